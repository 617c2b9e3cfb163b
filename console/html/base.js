/* What every part of the page uses. Nothing here or elsewhere makes markup out of text: names in the data are the job's. */
const D = JSON.parse(document.getElementById("data").textContent);
const main = document.getElementById("main");

function el(tag, attributes, ...children) {
	const node = tag.startsWith("svg:") ? document.createElementNS("http://www.w3.org/2000/svg", tag.slice(4)) : document.createElement(tag);
	for (const [name, value] of Object.entries(attributes || {}))
		if (value !== null && value !== undefined && value !== false)
			node.setAttribute(name, value === true ? "" : value);
	node.append(...children.flat().filter(child => child !== null && child !== undefined && child !== ""));
	return node;
}

/* Numbers for people */

const plural = (count, one, many) => `${count.toLocaleString("en")} ${count === 1 ? one : many || one + "s"}`;

function duration(us) {
	const size = Math.abs(us), seconds = Math.round(us / 1e6), minutes = Math.round(us / 60e6);
	if (size < 1000) return `${Math.round(us)} µs`;
	if (size < 999500) return `${(us / 1000).toFixed(size < 10000 ? 1 : 0)} ms`;
	if (size < 59.995e6) return `${(us / 1e6).toFixed(2)} s`;
	if (seconds < 3600) return seconds % 60 ? `${Math.floor(seconds / 60)} min ${seconds % 60} s` : `${seconds / 60} min`;
	return minutes % 60 ? `${Math.floor(minutes / 60)} h ${minutes % 60} min` : `${minutes / 60} h`;
}

const percent = share => share > 0 && share < .005 ? "< 1 %" : `${Math.round(share * 100)} %`;
const utc = us => new Date(D.job.began_ms + us / 1000).toISOString().replace("T", " ").replace("Z", " UTC");
const clock = us => new Date(D.job.began_ms + us / 1000).toISOString().slice(11, 23);

/* "0-3,7" of ascending numbers. */
function rankList(ranks) {
	const parts = [];
	for (let i = 0; i < ranks.length; i++) {
		let last = i;
		while (last + 1 < ranks.length && ranks[last + 1] === ranks[last] + 1) last++;
		parts.push(last > i + 1 ? `${ranks[i]}-${ranks[last]}` : ranks.slice(i, last + 1).join(","));
		i = last;
	}
	return parts.join(",");
}
/* Of processes whose rank is not known, too: null. */
function ranksText(ranks) {
	const known = ranks.filter(rank => rank !== null), others = ranks.length - known.length;
	const parts = known.length ? [`${known.length === 1 ? "rank" : "ranks"} ${rankList(known)}`] : [];
	return parts.concat(others ? [`${plural(others, "process", "processes")} without a rank`] : []).join(" and ");
}

/* Round numbers between two, about `wanted` of them. */
function ticks(low, high, wanted) {
	const rough = (high - low) / wanted, power = 10 ** Math.floor(Math.log10(rough || 1));
	const step = [1, 2, 5, 10].map(factor => factor * power).find(size => size >= rough) || 10 * power;
	const found = [];
	for (let at = Math.ceil(low / step) * step; at <= high + step * 1e-6; at += step) found.push(at);
	return found;
}

function timeTicks(low, high, wanted) {
	const steps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21600, 86400].map(s => s * 1e6);
	const rough = (high - low) / wanted;
	if (rough < 1e6) return ticks(low, high, wanted);
	const step = steps.find(size => size >= rough) || steps[steps.length - 1];
	const found = [];
	for (let at = Math.ceil(low / step) * step; at <= high; at += step) found.push(at);
	return found;
}

function timeLabel(us, span) {
	if (span < 90e6) return `${+(us / 1e6).toFixed(3)} s`;
	if (span < 7200e6) return `${Math.floor(us / 60e6)}:${String(Math.round(us % 60e6 / 1e6)).padStart(2, "0")}`;
	return `${Math.floor(us / 3600e6)} h ${String(Math.round(us % 3600e6 / 60e6)).padStart(2, "0")}`;
}

/* The findings: the first one is the verdict. */

const findings = D.findings.filter(finding => finding.severity !== "notice");
const notices = D.findings.filter(finding => finding.severity === "notice");
const verdict = findings[0] || null;
const namedRanks = new Set(findings.flatMap(finding => finding.scope === "job" ? [] : finding.ranks || []));
const rowOf = new Map(D.rows.map(row => [row.rank, row]));

const kindName = kind => ({ nan: "NaN", inf: "Inf", gpu: "GPU" })[kind] || kind;

/* How much of the job a part of the page stands on. */
function rests(more) {
	const total = D.job.ranks_total, seen = D.job.ranks_seen;
	const share = total > 0 ? `${seen} of ${total} ranks` : `${plural(seen, "rank")}, the job's size is not known`;
	return `${share} · level self${more ? " · " + more : ""}`;
}

function section(id, title, more) {
	const node = el("section", { id, "aria-labelledby": `${id}-title` },
		el("div", { class: "head" }, el("h2", { id: `${id}-title` }, title), el("span", { class: "rests" }, rests(more))));
	main.append(node);
	return node;
}

/* Colours, as the style has them now */

let colours = {};
function readColours() {
	const style = getComputedStyle(document.documentElement);
	for (const name of ["bg", "surface", "ink", "muted", "faint", "line", "late", "wait", "open", "own", "transfer", "unseen", "p2p", "bad"])
		colours[name] = style.getPropertyValue(`--${name}`).trim();
}
const rgb = hex => [1, 3, 5].map(at => parseInt(hex.slice(at, at + 2), 16));

/* Everything that is drawn: again when the width or the colours change. */

const drawings = [];
function redraw() {
	readColours();
	for (const draw of drawings) draw();
}

/* A canvas of this height in CSS pixels; draw(context, width, height). */
function canvas(parent, label, heightOf, draw, focusable) {
	const node = el("canvas", { role: "img", "aria-label": label, tabindex: focusable ? 0 : null });
	parent.append(node);
	drawings.push(() => {
		const width = parent.clientWidth, height = heightOf(width), scale = Math.min(window.devicePixelRatio || 1, 2);
		if (!width) return;
		node.width = Math.round(width * scale);
		node.height = Math.round(height * scale);
		node.style.height = `${height}px`;
		const context = node.getContext("2d");
		context.setTransform(scale, 0, 0, scale, 0, 0);
		context.clearRect(0, 0, width, height);
		context.font = "11.5px ui-sans-serif, system-ui, sans-serif";
		context.textBaseline = "middle";
		draw(context, width, height);
	});
	return node;
}

/* The tip beside the pointer, or beside what the keys point at */

const tip = document.getElementById("tip");
function showTip(x, y, ...children) {
	tip.replaceChildren(...children);
	tip.hidden = false;
	const box = tip.getBoundingClientRect();
	tip.style.left = `${Math.max(8, Math.min(x + 16, innerWidth - box.width - 8))}px`;
	tip.style.top = `${y + 18 + box.height > innerHeight ? Math.max(8, y - box.height - 12) : y + 18}px`;
}
function hideTip() { tip.hidden = true; }
function tipTable(rows) {
	return el("table", {}, rows.map(([name, value]) => el("tr", {}, el("td", {}, name), el("td", {}, value))));
}
function swatch(colour) {
	return el("svg:svg", { viewBox: "0 0 12 12", "aria-hidden": "true" }, el("svg:rect", { width: 12, height: 12, class: `c-${colour}`, fill: `var(--${colour})` }));
}
function legend(parent, entries) {
	parent.append(el("div", { class: "legend" }, entries.map(([colour, text]) => el("span", {}, swatch(colour), text))));
}
