/* Every rank over time, and above it how long steps took: one axis of time for both. */
const LEFT = 70, RIGHT = 128, AXIS = 24;
const span = { from: D.heat.from, until: Math.max(D.heat.from + D.heat.columns * D.heat.bucket, D.job.end) };
const xOf = (us, width) => LEFT + (us - span.from) / (span.until - span.from) * (width - LEFT - RIGHT);
const usOf = (x, width) => span.from + (x - LEFT) / (width - LEFT - RIGHT) * (span.until - span.from);

const KINDS = ["own", "wait", "transfer", "unseen", "open", "late"];
function bytesOf(text) {
	const packed = atob(text || ""), bytes = new Uint8Array(packed.length);
	for (let i = 0; i < packed.length; i++) bytes[i] = packed.charCodeAt(i);
	return bytes;
}
const cells = Object.fromEntries(KINDS.map(kind => [kind, bytesOf(D.heat[kind])]));
const heatRows = D.heat.ranks.length;

const stepAt = us => {
	const at = D.steps.at;
	if (!at.length || us < at[0]) return null;
	let low = 0, high = at.length;
	while (high - low > 1) {
		const middle = (low + high) >> 1;
		if (at[middle] <= us) low = middle; else high = middle;
	}
	return us > at[low] + D.steps.us[low] * D.steps.every * 1.5 ? null : low;
};

/* One pixel for each cell: what a rank's time went to, mixed; over it, who was waited for. */
function fillPixels(pixels) {
	const parts = ["own", "wait", "transfer", "unseen", "open"].map(kind => [cells[kind], ...rgb(colours[kind])]);
	const ground = rgb(colours.surface), orange = rgb(colours.late), late = cells.late, count = heatRows * D.heat.columns;
	for (let i = 0, at = 0; i < count; i++, at += 4) {
		let rest = 255, r = 0, g = 0, b = 0;
		for (let part = 0; part < parts.length; part++) {
			const [bytes, red, green, blue] = parts[part], share = Math.min(bytes[i], rest);
			if (!share) continue;
			r += share * red; g += share * green; b += share * blue;
			rest -= share;
		}
		const over = late[i] ? .3 + .7 * Math.sqrt(late[i] / 255) : 0, under = (1 - over) / 255;
		pixels[at] = (r + rest * ground[0]) * under + orange[0] * over;
		pixels[at + 1] = (g + rest * ground[1]) * under + orange[1] * over;
		pixels[at + 2] = (b + rest * ground[2]) * under + orange[2] * over;
		pixels[at + 3] = 255;
	}
}

/* Made once in each theme. */
const heatImages = new Map();
function heatImage() {
	const made = heatImages.get(colours.surface);
	if (made) return made;
	const image = new ImageData(Math.max(D.heat.columns, 1), Math.max(heatRows, 1)), offscreen = document.createElement("canvas");
	fillPixels(image.data);
	offscreen.width = image.width;
	offscreen.height = image.height;
	offscreen.getContext("2d").putImageData(image, 0, 0);
	heatImages.set(colours.surface, offscreen);
	return offscreen;
}

/* Rows of named ranks are never too thin to be seen. */
const PLAIN = heatRows <= 16 ? 22 : heatRows <= 40 ? 14 : Math.max(Math.min(640 / heatRows, 8), .04);
const NAMED_MOST = 16, isWide = rank => namedRanks.has(rank) && namedRanks.size <= NAMED_MOST;
const rowTops = [0];
for (const rank of D.heat.ranks) rowTops.push(rowTops[rowTops.length - 1] + Math.max(PLAIN, isWide(rank) ? 10 : 0));
const heatHeight = rowTops[heatRows];
const rowMiddle = row => (rowTops[row] + rowTops[row + 1]) / 2;
function rowAt(y) {
	if (y < 0 || y >= heatHeight) return -1;
	let low = 0, high = heatRows;
	while (high - low > 1) {
		const middle = (low + high) >> 1;
		if (rowTops[middle] <= y) low = middle; else high = middle;
	}
	return low;
}
const cursor = { row: -1, column: -1 };

function drawAxis(context, width, y) {
	context.fillStyle = colours.muted;
	context.textAlign = "center";
	for (const at of timeTicks(span.from, span.until, Math.max(3, width / 130))) {
		const x = xOf(at, width);
		if (x > width - RIGHT + 1) continue;
		context.fillRect(x, y, 1, 4);
		context.fillText(timeLabel(at, span.until - span.from), Math.max(x, LEFT + 8), y + 13);
	}
}

function drawFindingLines(context, width, top, bottom) {
	for (const finding of findings) {
		const x = Math.round(xOf(finding.at, width)) + .5;
		if (x < LEFT || x > width - RIGHT) continue;
		context.strokeStyle = colours.ink;
		context.setLineDash([3, 3]);
		context.beginPath();
		context.moveTo(x, top);
		context.lineTo(x, bottom);
		context.stroke();
		context.setLineDash([]);
	}
}

function drawRowLabels(context) {
	const every = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096].find(count => count * PLAIN >= 14) || 8192;
	const named = [...D.heat.ranks.keys()].filter(row => namedRanks.has(D.heat.ranks[row])).slice(0, 24);
	const label = (row, isNamed) => {
		context.fillStyle = isNamed ? colours.late : colours.muted;
		context.font = `${isNamed ? "700 " : ""}11.5px ui-sans-serif, system-ui, sans-serif`;
		context.fillText(D.heat.ranks[row] < 0 ? "?" : (isNamed ? "rank " : "") + D.heat.ranks[row], LEFT - 8, Math.max(rowMiddle(row), 6));
	};
	context.textAlign = "right";
	D.heat.ranks.forEach((rank, row) => {
		if (row % every === 0 && !named.some(other => Math.abs(rowMiddle(other) - rowMiddle(row)) < 13)) label(row, false);
	});
	named.forEach(row => label(row, true));
	context.font = "11.5px ui-sans-serif, system-ui, sans-serif";
}

/* Beside each row what its whole time went to. */
function drawTotals(context, width) {
	const left = width - RIGHT + 18, room = RIGHT - 20, gap = PLAIN > 6 ? 2 : 0;
	D.heat.totals.forEach((parts, row) => {
		const whole = parts.reduce((sum, part) => sum + part, 0) || 1;
		let x = left;
		["own", "wait", "transfer", "unseen", "open"].forEach((kind, i) => {
			const size = parts[i] / whole * room;
			context.fillStyle = colours[kind];
			context.fillRect(x, rowTops[row] + gap, size, Math.max(rowTops[row + 1] - rowTops[row] - 2 * gap, .6));
			x += size;
		});
	});
}

/* Stretches of rows that are as high as the others in one piece, wide ones each. */
function drawRows(context, image, plot) {
	context.imageSmoothingEnabled = PLAIN < 1;
	for (let from = 0; from < heatRows;) {
		let until = from + 1;
		while (until < heatRows && !isWide(D.heat.ranks[from]) && !isWide(D.heat.ranks[until])) until++;
		context.drawImage(image, 0, from, image.width, until - from, LEFT, rowTops[from], plot, rowTops[until] - rowTops[from]);
		from = until;
	}
	if (PLAIN < 10) return;
	context.fillStyle = colours.surface;
	for (let row = 1; row < heatRows; row++) context.fillRect(LEFT, rowTops[row] - 1, plot, 2);
}

/* Where each rank met its first bad value. */
function drawBirths(context, width) {
	for (const birth of D.numbers.births) {
		const row = D.heat.ranks.indexOf(birth.rank);
		if (row < 0) continue;
		const x = xOf(birth.at, width), y = rowMiddle(row), size = Math.min(6, Math.max(3, (rowTops[row + 1] - rowTops[row]) / 2 - 2));
		context.beginPath();
		[[0, -size], [size, 0], [0, size], [-size, 0]].forEach(([right, down]) => context.lineTo(x + right, y + down));
		context.closePath();
		context.fillStyle = colours.bad;
		context.fill();
		context.strokeStyle = colours.surface;
		context.stroke();
	}
}

function drawHeat(context, width) {
	const plot = xOf(D.heat.from + D.heat.columns * D.heat.bucket, width) - LEFT;
	drawRows(context, heatImage(), plot);
	drawFindingLines(context, width, 0, heatHeight);
	drawBirths(context, width);
	drawRowLabels(context);
	drawTotals(context, width);
	drawAxis(context, width, heatHeight + 2);
	context.fillStyle = colours.faint;
	context.textAlign = "left";
	context.fillText("all of its time", width - RIGHT + 18, heatHeight + 14);
	if (cursor.row < 0) return;
	context.strokeStyle = colours.ink;
	context.lineWidth = 1.5;
	context.strokeRect(xOf(D.heat.from + cursor.column * D.heat.bucket, width) - .5, rowTops[cursor.row], Math.max(plot / D.heat.columns, 3) + 1,
		Math.max(rowTops[cursor.row + 1] - rowTops[cursor.row], 3));
	context.lineWidth = 1;
}

function heatTip(row, column) {
	const i = row * D.heat.columns + column, from = D.heat.from + column * D.heat.bucket, rank = D.heat.ranks[row];
	const step = stepAt(from + D.heat.bucket / 2), of = kind => cells[kind][i] / 255;
	const names = { own: "outside of operations", wait: "waiting for another rank", transfer: "transfer", unseen: "not seen", open: "in what never ended", late: "others waited for it" };
	const host = rowOf.get(rank);
	return [
		el("div", {}, el("b", {}, rank < 0 ? "a rank without a number" : `rank ${rank}`), host ? ` · ${host.host}` : "",
			step === null ? "" : ` · step ${D.steps.first + step * D.steps.every}${D.steps.every > 1 ? " and following" : ""}`),
		el("div", {}, `${timeLabel(from, span.until - span.from)} for ${duration(D.heat.bucket)} · ${clock(from)} UTC`),
		tipTable(KINDS.filter(kind => cells[kind][i]).map(kind => [names[kind], `${duration(of(kind) * D.heat.bucket)} (${percent(of(kind))})`])),
	];
}

function totalsTip(row) {
	const parts = D.heat.totals[row], whole = parts.reduce((sum, part) => sum + part, 0) || 1;
	return [el("b", {}, `rank ${D.heat.ranks[row]}, all of its time`),
		tipTable(["outside of operations", "waiting for other ranks", "transfers", "not seen", "in what never ended"].map((name, i) => [name, `${duration(parts[i])} (${percent(parts[i] / whole)})`]))];
}

function heatPointer(node) {
	node.addEventListener("pointermove", event => {
		const box = node.getBoundingClientRect(), row = rowAt(event.clientY - box.top);
		const column = Math.floor((usOf(event.clientX - box.left, box.width) - D.heat.from) / D.heat.bucket);
		if (row < 0) return hideTip();
		if (event.clientX - box.left > box.width - RIGHT) return showTip(event.clientX, event.clientY, ...totalsTip(row));
		if (column < 0 || column >= D.heat.columns) return hideTip();
		showTip(event.clientX, event.clientY, ...heatTip(row, column));
	});
	node.addEventListener("pointerleave", hideTip);
}

/* Where one begins to look: the first named rank, where it was waited for most. */
function startCursor() {
	cursor.row = Math.max(0, D.heat.ranks.findIndex(rank => namedRanks.has(rank)));
	cursor.column = 0;
	for (let column = 0; column < D.heat.columns; column++)
		if (cells.late[cursor.row * D.heat.columns + column] > cells.late[cursor.row * D.heat.columns + cursor.column]) cursor.column = column;
}

function heatKeys(node) {
	const moves = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0], PageUp: [-8, 0], PageDown: [8, 0], Home: [0, -1e9], End: [0, 1e9] };
	const show = () => {
		const box = node.getBoundingClientRect();
		redraw();
		showTip(box.left + xOf(D.heat.from + (cursor.column + .5) * D.heat.bucket, box.width), box.top + rowMiddle(cursor.row), ...heatTip(cursor.row, cursor.column));
	};
	node.addEventListener("keydown", event => {
		const move = moves[event.key];
		if (event.key === "Escape") { cursor.row = -1; hideTip(); redraw(); }
		if (!move || event.ctrlKey || event.metaKey || event.altKey) return;
		event.preventDefault();
		if (cursor.row < 0) startCursor();
		else {
			const wide = event.shiftKey ? 10 : 1;
			cursor.row = Math.min(heatRows - 1, Math.max(0, cursor.row + move[0] * wide));
			cursor.column = Math.min(D.heat.columns - 1, Math.max(0, cursor.column + move[1] * wide));
		}
		show();
	});
	node.addEventListener("blur", () => { if (cursor.row >= 0) { cursor.row = -1; hideTip(); redraw(); } });
}

function heatSection() {
	const finest = `in pieces of ${duration(D.heat.bucket)}`, node = section("ranks", "Every rank over time", finest);
	if (!heatRows || !D.heat.columns) {
		node.append(el("p", { class: "quiet" }, "No operation was seen to begin and end on a GPU: nothing can be said about where time went."));
		return;
	}
	stepsChart(node);
	const plot = el("div", { class: "plot" });
	node.append(plot);
	const seen = namedRanks.size ? ` Named: ${ranksText([...namedRanks].sort((a, b) => a - b))}.` : "";
	const drawn = canvas(plot, `${plural(heatRows, "rank")} over ${duration(span.until - span.from)}.${seen} Arrow keys read single cells.`,
		() => heatHeight + AXIS, drawHeat, true);
	drawn.id = "heat";
	heatPointer(drawn);
	heatKeys(drawn);
	legend(node, [["late", "others waited for it"], ["wait", "waited for another rank"], ["open", "in an operation that never ended"], ["transfer", "transfer"], ["own", "outside of operations"], ["unseen", "not seen"], ...D.numbers.births.length ? [["bad", "its first NaN or Inf"]] : []]);
}
