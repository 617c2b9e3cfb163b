/* What is read and not looked at. */

function table(heads, rows) {
	const every = (column, pattern) => rows.length && rows.every(row => pattern.test(typeof row[column] === "string" ? row[column] : "x"));
	const kinds = heads.map((head, i) => every(i, /^[\d,.]*$/) && !["rank", "ranks"].includes(head) ? "num" : every(i, /^.{0,26}$/) ? "short" : null);
	return el("table", { class: "list" }, el("thead", {}, el("tr", {}, heads.map((head, i) => el("th", { class: kinds[i], scope: "col" }, head)))),
		el("tbody", {}, rows.map(row => el("tr", {}, row.map((cell, i) => el("td", { class: kinds[i] }, cell))))));
}
const rankCell = rank => namedRanks.has(rank) ? el("span", { class: "named" }, String(rank)) : rank === null ? "?" : String(rank);

/* What was in flight */

function phases(joined) {
	const by = new Map();
	for (const { rank, phase } of joined) by.set(phase, [...by.get(phase) || [], rank]);
	return [...by];
}

function flightNode(flight) {
	const operation = `${flight.function || "an operation"} #${flight.sequence} on ${flight.comm_name || flight.comm}`;
	const size = flight.comm_size ? plural(flight.comm_size, "rank") : "size not known";
	const list = el("ul", {});
	for (const [phase, ranks] of phases(flight.joined)) list.append(el("li", {}, el("span", {}, "joined"), `${ranksText(ranks)}: ${phase}`));
	for (const missing of flight.missing.slice(0, 8)) {
		list.append(el("li", {}, el("span", {}, "missing"), el("b", { class: "named" }, `rank ${missing.rank}`),
			missing.host ? ` on ${missing.host}, pid ${missing.pid}: ${missing.end}` : ": left no black box here"));
		for (const [thread, place] of rowOf.get(missing.rank)?.threads || [])
			list.append(el("li", {}, el("span", {}, ""), el("code", {}, thread || "a thread"), el("span", { class: "place" }, ` ${place}`)));
	}
	if (flight.missing.length > 8) list.append(el("li", {}, el("span", {}, "missing"), `also ${ranksText(flight.missing.slice(8).map(one => one.rank))}`));
	if (flight.unseen) list.append(el("li", {}, el("span", {}, "unseen"), `${plural(flight.unseen, "rank")} of it left no black box here`));
	return el("div", { class: "flight" }, el("div", { class: "title" }, operation), el("div", { class: "sub" }, `${size}, ${flight.count.toLocaleString("en")} × ${flight.dtype || "?"}`), list);
}

const operationText = one => one ? `${one.function}${one.sequence === null ? "" : ` #${one.sequence}`}${one.group ? ` on ${one.group}` : ""}` : "";

function rankTable(rows) {
	return table(["rank", "host", "pid", "last call", "at", "not ended", "how far", "the process"], rows.map(row => [
		rankCell(row.rank), row.host, String(row.pid), operationText(row.last), row.last ? duration(row.last.called) : "",
		row.in_flight ? `${operationText(row.open)}${row.in_flight > 1 ? ` and ${row.in_flight - 1} more` : ""}` : "nothing", row.open ? row.open.state : "", row.end]));
}

function everyRank(node) {
	const most = 600, hold = el("div", { class: "scroll" });
	const fill = words => {
		const found = D.rows.filter(row => !words || `rank ${row.rank} ${row.host} ${row.pid} ${operationText(row.last)} ${operationText(row.open)}`.toLowerCase().includes(words));
		hold.replaceChildren(rankTable(found.slice(0, most)));
		if (found.length > most) hold.append(el("p", { class: "quiet" }, `${found.length - most} more: name one above`));
	};
	const search = el("input", { type: "search", placeholder: "rank, host, operation…", "aria-label": "Ranks that show this" });
	search.addEventListener("input", () => fill(search.value.trim().toLowerCase()));
	const details = el("details", { open: D.rows.length <= 16 }, el("summary", {}, "Every rank's last operation"), D.rows.length > 16 ? el("p", {}, search) : null, hold);
	/* A thousand rows that nobody looks at cost time. */
	if (details.open) fill("");
	else details.addEventListener("toggle", () => { if (!hold.hasChildNodes()) fill(""); });
	node.append(details);
}

function endSection() {
	const node = section("end", "At the end", `${plural(D.flights.length, "communicator")} with operations in flight`);
	if (!D.flights.length && !D.job.inits.length) node.append(el("p", { class: "quiet" }, "Nothing was in flight."));
	const worst = [...D.flights].sort((a, b) => (b.missing.length > 0) - (a.missing.length > 0));
	worst.slice(0, 6).forEach(flight => node.append(flightNode(flight)));
	if (worst.length > 6) node.append(el("details", {}, el("summary", {}, `${worst.length - 6} more communicators`), worst.slice(6).map(flightNode)));
	D.job.inits.forEach(line => node.append(el("div", { class: "sub" }, line)));
	everyRank(node);
}

/* Where the time went */

function shareBar(parts) {
	const bar = el("svg:svg", { viewBox: "0 0 100 10", preserveAspectRatio: "none", role: "img", "aria-label": parts.map(([name, share]) => `${name} ${percent(share)}`).join(", ") });
	let at = 0;
	for (const [, share, colour] of parts) {
		bar.append(el("svg:rect", { x: at, y: 0, width: share * 100, height: 10, fill: `var(--${colour})` }));
		at += share * 100;
	}
	return el("div", { class: "shares" }, bar);
}

function lossText(loss) {
	const many = loss.spread_out ? ", a little in each operation" : loss.steps ? `: in ${loss.steps} of ${loss.of_steps} steps, ${duration(loss.step_ms * 1000)} in each` : "";
	const why = loss.cause ? `, ${loss.cause}${loss.path ? ` on ${loss.path}` : ""}` : loss.by === "device" ? ", late by its GPU" : "";
	return `, ${percent(loss.share)} of the time${many}${why}.`;
}

function timeSection() {
	const node = section("time", "Where the time went", "finished operations with GPU times"), account = D.job.account;
	if (!account) {
		node.append(el("p", { class: "quiet" }, D.job.clocks > 1 ? "Machines whose clocks cannot be compared are judged apart: the head has the shares of each group." : "Without times of the GPU nobody knows."));
		return;
	}
	const parts = [["own work", account.own, "own"], ["waiting for other ranks", account.wait, "wait"], ["transfers", account.transfer, "transfer"], ["not seen", account.unseen, "unseen"]];
	node.append(shareBar(parts));
	node.append(el("div", { class: "legend" }, parts.map(([name, share, colour]) => el("span", {}, swatch(colour), `${name} ${percent(share)}`))));
	const losses = account.waited_for.map(loss => el("p", { class: "loss" }, "The others waited for ", el("b", { class: "named" }, loss.rank < 0 ? "a rank without a number" : `rank ${loss.rank}`), lossText(loss)));
	const turns = account.turns;
	if (turns) losses.push(...[`The others waited ${turns.text}.`, turns.because && `Because: ${turns.because}.`, turns.advice && `Do: ${turns.advice}.`]
		.filter(Boolean).map(text => el("p", { class: "loss" }, text)));
	if (losses.length) node.append(...losses);
	else node.append(el("p", { class: "quiet" }, account.nobody >= .05 ? `${percent(account.nobody)} of the time ranks waited where no single rank was late: half of them came as late, or too little was seen of them.` : "No rank stands out as the one that others waited for."));
}

/* Evidence */

function evidenceOf(finding) {
	const rows = (finding.evidence || []).map(one => [finding.ranks.length ? rankList(finding.ranks) : "none named", one.source || "", one.ms === null ? "" : duration(one.ms * 1000), one.what || ""]);
	const where = (finding.where || []).map(one => [one.rank < 0 ? "?" : String(one.rank), one.host || "", one.pid === null ? "" : String(one.pid), one.gpu || "", one.pci || ""]);
	const chain = (finding.cause?.chain || []).map(one => `${one.thread || one.tid} waits for ${one.waits_for}${one.does ? `, which ${one.does}` : ""}`);
	return el("div", {}, el("h3", {}, `${kindName(finding.kind)}, ${finding.ranks.length ? ranksText(finding.ranks) : "no rank named"}`),
		where.length ? table(["rank", "host", "pid", "GPU", "PCI"], where.slice(0, 16)) : null,
		rows.length ? table(["rank", "seen by", "for", "what"], rows) : el("p", { class: "quiet" }, "No evidence of the host or the GPU is kept for this finding."),
		chain.length ? el("p", { class: "sub" }, chain.join(" → ")) : null,
		finding.cause?.stack?.length ? el("p", { class: "sub mono" }, finding.cause.stack.join(" ← ")) : null,
		(finding.missing || []).map(text => el("p", { class: "sub" }, `Not seen: ${text}`)));
}

function evidenceSection() {
	const node = section("evidence", "Evidence of host and GPU", "samples of the processes themselves");
	const xids = D.job.head.filter(([label]) => label === "Xids").map(([, text]) => text);
	if (!findings.length) node.append(el("p", { class: "quiet" }, "Nothing was found, so nothing was asked."));
	findings.slice(0, 8).forEach(finding => node.append(evidenceOf(finding)));
	if (findings.length > 8) node.append(el("details", {}, el("summary", {}, `${findings.length - 8} more findings`), findings.slice(8).map(evidenceOf)));
	xids.forEach(text => node.append(el("h3", {}, "Xids"), el("p", { class: "sub" }, text)));
	node.append(el("p", { class: "sub" }, "What the kernel saw, clocks, temperatures and ECC counters are in no black box: a collector keeps them in its findings."));
}

/* Differences */

function unlikeNode({ what, values }) {
	const sorted = [...values].sort((a, b) => a.count - b.count);
	return table([what.replaceAll("_", " "), "ranks", "how many"], sorted.map(({ value, ranks, count }) => [value === null ? "not set" : el("code", {}, value), ranks || "", String(count)]));
}

function differencesSection() {
	const node = section("unlike", "What differs between ranks", "headers of the black boxes"), { unlike, alike } = D.differences;
	if (!unlike.length) node.append(el("p", { class: "quiet" }, "Nothing: versions, configuration and environment are alike wherever they are recorded."));
	unlike.forEach(one => node.append(unlikeNode(one)));
	if (alike.length) node.append(el("details", {}, el("summary", {}, `${plural(alike.length, "thing")} alike on all ranks`), table(["what", "value"], alike.map(([what, value]) => [what.replaceAll("_", " "), el("code", {}, value)]))));
}
