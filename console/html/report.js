/* The page from top to bottom: the verdict, the story, then what they rest on. */

const HOW_SURE = {
	certain: "certain",
	likely: "likely: not everything that would prove it could be seen",
	inconclusive: "inconclusive: what was seen does not single out one rank or cause",
};

/* Of hangs that name nobody: who waits stands in the text, and is not to be taken for who is to blame. */
const STANDING = { circle: "Ranks wait for each other", together: "No rank is missing" };

/* "rank 4 (host a, pid 1) has not joined…" → ["Rank 4", "has not joined…"] */
function headline(finding) {
	if (finding.standing) return [STANDING[finding.standing] || "Hang", finding.text];
	const found = /^(host \S+?|ranks? [\d,\-… ()a-z]*?\d)(?: \([^)]*\))?:? (.*)$/s.exec(finding.text || "");
	if (found && found[1].length < 28) return [found[1][0].toUpperCase() + found[1].slice(1), found[2]];
	const ranks = finding.ranks || [];
	if (finding.scope !== "job" && ranks.length && ranks.length < 4) return [ranksText(ranks).replace("r", "R"), finding.text];
	return [kindName(finding.kind)[0].toUpperCase() + kindName(finding.kind).slice(1), finding.text];
}

function definitions(className, entries) {
	return el("dl", { class: className }, entries.filter(([, value]) => value !== null && value !== undefined && value !== "").flatMap(([name, value, strong]) => [el("dt", {}, name), el("dd", { class: strong ? "strong" : null }, value)]));
}

/* Where nobody is named, nobody is late: all stand for so long, or every step is longer by so much. */
function lateLabel(finding) {
	if (finding.late?.kind === "transfer") return "took";
	if ((finding.ranks || []).length || finding.scope === "host") return "late by";
	return finding.kind === "hang" ? "for" : "by";
}

function factsOf(finding) {
	const where = finding.where?.length === 1 ? finding.where[0] : null, operation = finding.operation, late = finding.late, watchdog = finding.watchdog;
	const waiting = late?.waiting?.length ? ranksText(late.waiting) : null;
	return definitions("facts", [
		["host", where?.host], ["process", where?.pid ? `pid ${where.pid}` : null], ["GPU", where?.pci],
		["operation", operation ? `${operation.function} #${operation.sequence}` : null],
		["on", operation?.comm_name ? `${operation.comm_name}${operation.comm_size ? `, ${plural(operation.comm_size, "rank")}` : ""}` : null],
		["step", operation?.step], [lateLabel(finding), late?.by_ms > 0 ? duration(late.by_ms * 1000) : null],
		["costs", late?.lost_share > 0 ? `${late.at_least ? "at least " : ""}${percent(late.lost_share)} of the step time` : null],
		["waiting", waiting && waiting.length > 44 ? plural(late.waiting.length, "rank") : waiting],
		["watchdog", watchdog ? `${duration(watchdog.timeout_ms * 1000)}${watchdog.left_ms > 0 && finding.state !== "closed" ? `, ${duration(watchdog.left_ms * 1000)} left` : ""}` : null],
		["at", `${timeLabel(finding.at, D.job.end)} · ${clock(finding.at)}`],
	]);
}

const incidentOf = finding => finding.incident?.id;

function verdictNode() {
	if (!verdict) return calmNode();
	const [who, what] = headline(verdict);
	const missing = (verdict.missing || []).slice(0, 2).join("; ");
	/* What a rank made later, when it was clean in between, has the id of what it made first. */
	const others = findings.slice(1).filter(other => !incidentOf(verdict) || incidentOf(other) !== incidentOf(verdict) || other.id === verdict.id);
	return el("div", { class: "verdict", id: "verdict" },
		el("div", {}, el("div", { class: "eyebrow" }, el("span", { class: "kind" }, kindName(verdict.kind) === verdict.kind ? verdict.kind.toUpperCase() : kindName(verdict.kind)), el("span", {}, `${verdict.severity}${verdict.state === "closed" ? " · over" : ""}`)),
			el("h1", {}, who), el("p", { class: "what" }, what),
			definitions("reasons", [["because", verdict.because, verdict.cause?.class !== "unknown"], ["values", verdict.values_line], ["evidence", verdict.seen_live_line], ["story", verdict.story], ["what to do", verdict.advice, true], ["how sure", HOW_SURE[verdict.confidence] || verdict.confidence], ["not seen", missing],
				["also", others.length ? others.slice(0, 3).map(other => other.text).join(" · ") + (others.length > 3 ? ` · ${others.length - 3} more below` : "") : null]])),
		factsOf(verdict));
}

/* Nothing was found: what can be said all the same. */
function calmText() {
	const account = D.job.account, loss = account?.waited_for?.[0], open = D.heat.totals.map(parts => parts[4]);
	if (D.job.inits.length) return ["A communicator was never made", D.job.inits.join("; ")];
	if (open.length && Math.min(...open) > 1e6)
		return ["All stood still", `Every rank was in an operation that never ended, for ${duration(Math.min(...open))} at least. Nobody can be named: see what was in flight, below.`];
	if (loss) return ["No rank is named", `The others waited ${percent(loss.share)} of the time for ${loss.rank < 0 ? "a rank without a number" : `rank ${loss.rank}`}${loss.not_named ? `. It is not named: ${loss.not_named}` : ""}.`];
	return ["No rank stands out", account ? `Waiting for other ranks took ${percent(account.wait)} of the time.` : "Nothing that rankwatch judges was seen to go wrong in what these black boxes hold."];
}

function calmNode() {
	const [who, what] = calmText();
	return el("div", { class: who.startsWith("No") ? "verdict calm" : "verdict", id: "verdict" }, el("div", {}, el("div", { class: "eyebrow" }, el("span", { class: "kind" }, "NO FINDING")), el("h1", {}, who), el("p", { class: "what" }, what)),
		definitions("facts", [["ranks", rests().split(" · ")[0]], ["steps", D.job.steps ? D.job.steps.toLocaleString("en") : null], ["step time", D.job.step_ms > 0 ? duration(D.job.step_ms * 1000) : null], ["operations", D.job.operations.toLocaleString("en")], ["seen for", duration(D.job.end)]]));
}

/* The story: what was found and how processes ended, in the order of time. */

/* "follows from the nan", where a finding is not the first of its incident. */
function follows(finding) {
	const chain = finding.incident?.chain || [], link = chain.find(one => one.finding === finding.id), before = chain[link?.follows];
	return before?.kind ? `follows from the ${kindName(before.kind)} of this incident${link.confidence === "certain" ? "" : ` (${link.confidence})`}` : null;
}

function endings() {
	const groups = [];
	for (const row of [...D.rows].sort((a, b) => a.record_end - b.record_end)) {
		const last = groups[groups.length - 1];
		if (last && last.end === row.end && row.record_end - last.at < 1e6) last.ranks.push(row.rank);
		else groups.push({ at: row.record_end, end: row.end, ranks: [row.rank] });
	}
	for (const group of groups) group.ranks.sort((a, b) => a - b);
	return groups;
}

function storyEvents() {
	const events = [{ at: 0, text: D.job.whole ? "The first black box was made." : "What the black boxes still hold begins. Earlier operations have been overwritten." }];
	if (D.steps.at.length) events.push({ at: D.steps.at[0], text: `Step ${D.steps.first}${D.steps.first > 1 ? ", the first that could be told apart" : ""}.` });
	for (const { level, text } of levelTexts()) events.push({ at: D.steps.at[level.begin], text: `Steps: ${text}.` });
	for (const finding of findings)
		events.push({ at: finding.at, severity: finding.severity, kind: finding.kind, text: finding.text, sub: [follows(finding), finding.because && finding.because !== "not known" ? `because ${finding.because}` : finding.values_line, finding.seen_live_line].filter(Boolean).join(" · ") });
	if (D.rows.length) endings().forEach(group => events.push({ at: group.at, text: `${ranksText(group.ranks)[0].toUpperCase()}${ranksText(group.ranks).slice(1)}: ${group.end}.` }));
	return events.sort((a, b) => a.at - b.at);
}

function storySection() {
	const node = section("story", "The story"), events = storyEvents(), most = 14;
	const item = event => el("li", { class: event.severity }, el("time", {}, timeLabel(Math.round(event.at / 1e4) * 1e4, D.job.end)), el("i", {}),
		el("span", {}, event.kind ? el("b", {}, `${kindName(event.kind)}: `) : null, event.text, el("span", { class: "utc" }, `${clock(event.at)} UTC`), event.sub ? el("div", { class: "sub" }, event.sub) : null));
	node.append(el("ol", { class: "story" }, events.slice(0, most).map(item)));
	if (events.length > most) node.append(el("details", {}, el("summary", {}, `${events.length - most} more events`), el("ol", { class: "story" }, events.slice(most).map(item))));
	/* What else the job showed, so that nobody takes it for the cause. */
	if (D.job.shown.length) node.append(el("div", { class: "shown" }, el("h3", {}, "Seen as well, and no finding"), definitions("reasons", D.job.shown.map(([name, text]) => [name === "long" ? "long steps" : name, text]))));
	if (notices.length) node.append(el("details", {}, el("summary", {}, `${plural(notices.length, "notice")}: true, and no reason to act`), el("ul", {}, notices.map(notice => el("li", {}, notice.text)))));
}

function foot() {
	document.getElementById("foot").append(
		el("details", {}, el("summary", {}, "What this page stands on"), table(["", ""], D.job.head.map(([label, text]) => [label, text]))),
		el("p", {}, `Made ${new Date(D.job.made_ms).toISOString().slice(0, 16).replace("T", " ")} UTC by rankwatch ${D.version} from ${plural(D.job.ranks_seen, "black box", "black boxes")} of ${plural(new Set(D.rows.map(row => row.host)).size, "host")}. Times: seconds since ${utc(0).slice(0, 23)} UTC. Nothing on this page comes from a network.`));
}

/* Keys */

const KEYS = [["j, k", "next and previous part"], ["1 … 9", "that part"], ["t", "light or dark"], ["Tab", "into a drawing"], ["← → ↑ ↓", "read it cell by cell"], ["+ − 0", "around the event: nearer, farther, all"], ["Esc", "out of it"], ["?", "this"]];

function setTheme(theme) {
	document.documentElement.dataset.theme = theme;
	redraw();
}

function go(by) {
	const parts = [document.querySelector("#verdict"), ...document.querySelectorAll("section")], top = 60;
	const now = parts.reduce((best, part, i) => part.getBoundingClientRect().top <= top + 4 ? i : best, 0);
	const next = parts[Math.min(parts.length - 1, Math.max(0, now + by))];
	next.scrollIntoView();
}

function keys() {
	const help = document.getElementById("help"), sections = [...document.querySelectorAll("section")];
	help.append(el("h2", {}, "Keys"), el("dl", { class: "reasons" }, KEYS.flatMap(([key, what]) => [el("dt", {}, el("kbd", {}, key)), el("dd", {}, what)])));
	document.getElementById("help-button").addEventListener("click", () => help.showModal());
	help.addEventListener("click", () => help.close());
	const toggle = () => setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark");
	document.getElementById("theme").addEventListener("click", toggle);
	addEventListener("keydown", event => {
		if (event.ctrlKey || event.metaKey || event.altKey || /INPUT|DIALOG/.test(event.target.tagName)) return;
		if (event.key === "t") toggle();
		else if (event.key === "?") help.showModal();
		else if (event.key === "j") go(1);
		else if (event.key === "k") go(-1);
		else if (/^[1-9]$/.test(event.key)) sections[event.key - 1]?.scrollIntoView();
	});
}

function nav() {
	const bar = document.getElementById("nav"), names = { story: "Story", ranks: "Ranks", around: "Event", end: "End", time: "Time", values: "Values", evidence: "Evidence", unlike: "Differences" };
	for (const [id, name] of Object.entries(names)) bar.append(el("a", { href: `#${id}` }, name));
	const job = `${D.job.id || "a job"}${D.job.generation > 0 ? `, restart ${D.job.generation}` : ""} · ${utc(D.job.end).slice(0, 19)}`;
	document.getElementById("job").append(job);
	document.title = `${verdict ? `${headline(verdict)[0]}: ${kindName(verdict.kind)}` : "no finding"} · ${D.job.id} · rankwatch`;
}

/* What A4 and Letter both have between their margins. */
const PAPER = "700px";

function start() {
	const dark = matchMedia("(prefers-color-scheme: dark)");
	document.documentElement.dataset.theme = dark.matches ? "dark" : "light";
	dark.addEventListener("change", () => setTheme(dark.matches ? "dark" : "light"));
	nav();
	main.append(verdictNode());
	storySection();
	heatSection();
	timelineSection();
	endSection();
	timeSection();
	numbersSection();
	evidenceSection();
	differencesSection();
	foot();
	keys();
	redraw();
	let before = innerWidth;
	addEventListener("resize", () => { if (innerWidth !== before) { before = innerWidth; redraw(); } });
	/* Paper is white, and narrower than most screens: what is drawn is drawn for its width, not squeezed into it. Nobody can open
	 * there what the page stands on. */
	const stands = document.querySelector("#foot details");
	let theme, open;
	addEventListener("beforeprint", () => { [theme, open] = [document.documentElement.dataset.theme, stands.open]; stands.open = true; main.style.width = PAPER; setTheme("light"); });
	addEventListener("afterprint", () => { stands.open = open; main.style.width = ""; setTheme(theme); });
	document.documentElement.dataset.ready = "";
}

start();
