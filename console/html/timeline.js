/* The time around the verdict: what each rank had on its GPU, what it called, where its threads stood. */
const around = { from: D.around.from, until: Math.max(D.around.until, D.around.from + 1000), all: false, row: -1, slice: -1 };
const view = { from: around.from, until: around.until };
const TL_LEFT = 72, TL_ROW = 44, TL_SHORT = 12;
const GPU_Y = 4, GPU_H = 15, CALL_Y = 21, CALL_H = 4, STATE_Y = 28, STATE_H = 5;

const timelineRanks = Object.keys(D.around.ranks).map(Number).filter(rank => D.around.ranks[rank])
	.sort((a, b) => (namedRanks.has(b) - namedRanks.has(a)) || a - b);
const shownRanks = () => around.all ? timelineRanks : timelineRanks.slice(0, TL_SHORT);
const tlX = (us, width) => TL_LEFT + (us - view.from) / (view.until - view.from) * (width - TL_LEFT);

/* [lane, begin, length, name, open, thread]; lanes: 0 calls, 1 GPU, 2 states. Threads of a rank have lanes of their own, two at most. */
const slicesOf = new Map(timelineRanks.map(rank => {
	const threads = [...new Set(D.around.ranks[rank].filter(slice => slice[0] === 2).map(slice => slice[5]))].sort((a, b) => a - b);
	const list = D.around.ranks[rank].map(([lane, begin, length, name, open, thread]) => ({ lane, begin, length, text: D.around.names[name], open, thread: Math.min(threads.indexOf(thread), 1) }));
	return [rank, list.sort((a, b) => a.begin - b.begin)];
}));

const functionColours = [[/^(AllGather|Broadcast)/, "wait"], [/^(ReduceScatter|AllReduce|Reduce)/, "transfer"], [/./, "p2p"]];
const colourOf = text => functionColours.find(([pattern]) => pattern.test(text))[1];

function placeOf(slice, top) {
	if (slice.lane === 1) return [top + GPU_Y, GPU_H];
	if (slice.lane === 0) return [top + CALL_Y, CALL_H];
	return [top + STATE_Y + slice.thread * (STATE_H + 2), STATE_H];
}

function stripes(context, x, y, width, height) {
	context.save();
	context.beginPath();
	context.rect(x, y, width, height);
	context.clip();
	context.strokeStyle = colours.surface;
	context.globalAlpha = .22;
	context.lineWidth = 2;
	for (let at = x - height; at < x + width; at += 7) {
		context.beginPath();
		context.moveTo(at, y + height);
		context.lineTo(at + height, y);
		context.stroke();
	}
	context.restore();
}

function drawSlice(context, slice, top, width, named) {
	const [y, height] = placeOf(slice, top);
	const left = Math.max(tlX(slice.begin, width), TL_LEFT), right = Math.min(tlX(slice.begin + slice.length, width), width);
	if (right < TL_LEFT || left > width) return;
	const size = Math.max(right - left, 1);
	context.fillStyle = slice.lane === 0 ? colours.faint : slice.lane === 2 ? (named ? colours.late : colours.unseen) : slice.open ? colours.open : colours[colourOf(slice.text)];
	context.fillRect(left, y, size, height);
	if (slice.open) stripes(context, left, y, size, height);
	if (slice.lane === 1 && size > 70) {
		context.save();
		context.beginPath();
		context.rect(left, y, size - 3, height);
		context.clip();
		context.fillStyle = document.documentElement.dataset.theme === "dark" ? (slice.open ? "#ffffff" : "#0b0e11") : slice.open || colourOf(slice.text) !== "transfer" ? "#ffffff" : "#11241d";
		context.textAlign = "left";
		const name = slice.text.split(" · ")[0];
		const fits = [name + (slice.open ? " · never ended" : ""), name, name.split(" ")[0]].find(text => context.measureText(text).width <= size - 10);
		if (fits) context.fillText(fits, left + 5, y + height / 2 + .5);
		context.restore();
	}
}

function drawTimeline(context, width) {
	const ranks = shownRanks(), bottom = ranks.length * TL_ROW;
	ranks.forEach((rank, row) => {
		const top = row * TL_ROW, named = namedRanks.has(rank);
		context.fillStyle = colours.line;
		context.fillRect(0, top + TL_ROW - 1, width, 1);
		context.textAlign = "right";
		context.fillStyle = named ? colours.late : colours.muted;
		context.font = `${named ? "700 " : ""}12px ui-sans-serif, system-ui, sans-serif`;
		context.fillText(`rank ${rank}`, TL_LEFT - 10, top + GPU_Y + GPU_H / 2);
		context.font = "11px ui-sans-serif, system-ui, sans-serif";
		for (const slice of slicesOf.get(rank)) drawSlice(context, slice, top, width, named);
	});
	if (verdict) {
		const x = Math.round(tlX(verdict.at, width)) + .5;
		if (x > TL_LEFT && x < width) {
			context.strokeStyle = colours.ink;
			context.setLineDash([3, 3]);
			context.beginPath();
			context.moveTo(x, 0);
			context.lineTo(x, bottom);
			context.stroke();
			context.setLineDash([]);
		}
	}
	context.fillStyle = colours.muted;
	context.textAlign = "center";
	for (const at of ticks(view.from, view.until, Math.max(3, width / 140))) {
		const x = tlX(at, width);
		context.fillRect(x, bottom, 1, 4);
		context.fillText(`${+(at / 1e6).toFixed(4)} s`, Math.min(Math.max(x, TL_LEFT + 16), width - 20), bottom + 13);
	}
	const chosen = around.row >= 0 && slicesOf.get(ranks[around.row])?.[around.slice];
	if (chosen) {
		const [y, height] = placeOf(chosen, around.row * TL_ROW);
		context.strokeStyle = colours.ink;
		context.lineWidth = 2;
		context.strokeRect(tlX(chosen.begin, width) - 1, y - 1, Math.max(tlX(chosen.begin + chosen.length, width) - tlX(chosen.begin, width), 2) + 2, height + 2);
		context.lineWidth = 1;
	}
}

function sliceTip(rank, slice) {
	const what = ["call", "on the GPU", "thread"][slice.lane];
	return [el("b", {}, slice.text), el("div", {}, `rank ${rank} · ${what} · ${duration(slice.length)}${slice.open ? ", never ended" : ""}`),
		el("div", {}, `from ${(slice.begin / 1e6).toFixed(4)} s · ${clock(slice.begin)} UTC`)];
}

function sliceUnder(x, y, width) {
	const row = Math.floor(y / TL_ROW), rank = shownRanks()[row];
	if (rank === undefined) return null;
	let found = null;
	for (const slice of slicesOf.get(rank)) {
		const [top, height] = placeOf(slice, row * TL_ROW);
		if (y < top - 1 || y > top + height + 1) continue;
		const left = tlX(slice.begin, width) - 2, right = Math.max(tlX(slice.begin + slice.length, width), left + 3) + 2;
		if (x >= left && x <= right && (!found || slice.length < found.slice.length)) found = { rank, slice };
	}
	return found;
}

function setView(from, until) {
	const length = Math.min(Math.max(until - from, 200), around.until - around.from);
	view.from = Math.min(Math.max(from, around.from), around.until - length);
	view.until = view.from + length;
	hideTip();
	redraw();
}
function zoom(factor, at) {
	const middle = at === undefined ? (view.from + view.until) / 2 : at;
	setView(middle - (middle - view.from) * factor, middle + (view.until - middle) * factor);
}

function timelinePointer(node) {
	let drag = null;
	const at = event => {
		const box = node.getBoundingClientRect();
		return [event.clientX - box.left, event.clientY - box.top, box.width];
	};
	node.addEventListener("pointerdown", event => { drag = { x: event.clientX, from: view.from, until: view.until }; });
	addEventListener("pointerup", () => { drag = null; });
	node.addEventListener("pointermove", event => {
		const [x, y, width] = at(event);
		if (drag && event.buttons) {
			const by = (drag.x - event.clientX) / (width - TL_LEFT) * (drag.until - drag.from);
			return setView(drag.from + by, drag.until + by);
		}
		const found = sliceUnder(x, y, width);
		if (found) showTip(event.clientX, event.clientY, ...sliceTip(found.rank, found.slice)); else hideTip();
	});
	node.addEventListener("pointerleave", hideTip);
	node.addEventListener("wheel", event => {
		if (!event.ctrlKey && !event.metaKey) return;
		event.preventDefault();
		const [x, , width] = at(event);
		zoom(event.deltaY > 0 ? 1.25 : .8, view.from + (x - TL_LEFT) / (width - TL_LEFT) * (view.until - view.from));
	}, { passive: false });
}

/* Left and right go from slice to slice, up and down from rank to rank. */
function timelineKeys(node) {
	const choose = () => {
		const rank = shownRanks()[around.row], slice = slicesOf.get(rank)[around.slice], box = node.getBoundingClientRect();
		if (!slice) return;
		if (slice.begin < view.from || slice.begin > view.until) setView(slice.begin - (view.until - view.from) / 3, slice.begin + (view.until - view.from) * 2 / 3);
		redraw();
		showTip(box.left + Math.max(tlX(slice.begin, box.width), TL_LEFT), box.top + around.row * TL_ROW + 24, ...sliceTip(rank, slice));
	};
	const near = us => slicesOf.get(shownRanks()[around.row]).reduce((best, slice, i, all) => Math.abs(slice.begin - us) < Math.abs(all[best].begin - us) ? i : best, 0);
	node.addEventListener("keydown", event => {
		const zooms = { "+": .6, "=": .6, "-": 1.6 }[event.key];
		const move = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
		if (event.ctrlKey || event.metaKey || event.altKey) return;
		if (zooms) zoom(zooms);
		if (event.key === "0") setView(around.from, around.until);
		if (event.key === "Escape") { around.row = -1; hideTip(); redraw(); }
		if (!move) return;
		event.preventDefault();
		const ranks = shownRanks(), slice = around.row >= 0 && slicesOf.get(ranks[around.row])[around.slice];
		around.row = Math.min(ranks.length - 1, Math.max(0, (around.row < 0 ? 0 : around.row) + move[0]));
		const count = slicesOf.get(ranks[around.row]).length;
		if (!slice || move[0]) around.slice = count ? near(slice ? slice.begin : verdict ? verdict.at : view.from) : -1;
		else around.slice = Math.min(count - 1, Math.max(0, around.slice + move[1]));
		choose();
	});
	node.addEventListener("blur", () => { if (around.row >= 0) { around.row = -1; hideTip(); redraw(); } });
}

function timelineSection() {
	const shown = `${timelineRanks.length} of ${plural(D.rows.length, "rank")} drawn`;
	const node = section("around", verdict ? "Around the event" : "The end of the run", shown);
	if (!timelineRanks.length) {
		node.append(el("p", { class: "quiet" }, "No rank's number is known: there is nothing to draw."));
		return;
	}
	const controls = el("div", { class: "controls" });
	const button = (text, title, act) => {
		const made = el("button", { type: "button", title }, text);
		made.addEventListener("click", act);
		controls.append(made);
		return made;
	};
	button("+", "Nearer (+, or Ctrl and the wheel)", () => zoom(.6));
	button("−", "Farther (-)", () => zoom(1.6));
	button("all", "The whole stretch (0)", () => setView(around.from, around.until));
	if (timelineRanks.length > TL_SHORT) {
		const more = button(`all ${timelineRanks.length} ranks`, "Draw every rank that there is", () => {
			around.all = !around.all;
			more.textContent = around.all ? "fewer ranks" : `all ${timelineRanks.length} ranks`;
			redraw();
		});
	}
	node.querySelector(".rests").after(controls);
	node.append(el("p", { class: "lead" }, "Each rank has up to three rows: its GPU's progress, read every few ms; its calls of NCCL (thin); and where its threads were waiting."));
	const plot = el("div", { class: "plot" });
	node.append(plot);
	const drawn = canvas(plot, `Operations of ${ranksText([...timelineRanks].sort((a, b) => a - b))} from ${duration(around.from)} to ${duration(around.until)}. Arrow keys read single operations.`,
		() => shownRanks().length * TL_ROW + 24, drawTimeline, true);
	drawn.id = "timeline";
	timelinePointer(drawn);
	timelineKeys(drawn);
	legend(node, [["wait", "AllGather, Broadcast"], ["transfer", "reductions"], ["p2p", "Send, Recv and others"], ["open", "never ended"], ["faint", "calls"], ["late", "a named rank's threads stood"], ["unseen", "other ranks' threads"]]);
	if (D.around.left_out) node.append(el("p", { class: "quiet" }, `${plural(D.around.left_out, "short one")} left out: the longest of each rank are drawn. rankwatch trace writes all of them.`));
}
