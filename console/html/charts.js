/* How long steps took, and how large values were. */

const STEPS_HEIGHT = 88, FEW_STEPS = 12;

/* Changes from one level to the next, and levels that creep. */
function levelTexts() {
	const levels = D.steps.levels, texts = [];
	const number = value => D.steps.first + value * D.steps.every;
	levels.forEach((level, i) => {
		const before = levels[i - 1];
		if (before)
			texts.push({ level, text: `${duration(before.median)} → ${duration(level.median)} (${level.median > before.median ? "+" : "−"}${percent(Math.abs(level.median / before.median - 1))}) from step ${number(level.begin)}` });
		if (level.slope)
			texts.push({ level, text: `creeps by ${duration(Math.abs(level.slope) / D.steps.every)} ${level.slope > 0 ? "up" : "down"} each step from step ${number(level.begin)}` });
	});
	return texts;
}

function drawSteps(context, width, height) {
	const { at, us, levels } = D.steps, sorted = [...us].sort((a, b) => a - b);
	/* A few long ones (a checkpoint) may stand out above: they would make the rest flat. */
	const most = sorted[Math.ceil((sorted.length - 1) * .98)] * 1.15;
	const base = height - 8, yOf = value => Math.max(13, base - value / most * (base - 22));
	context.textAlign = "right";
	for (const tick of ticks(0, most, 2).slice(1)) {
		context.fillStyle = colours.line;
		context.fillRect(LEFT, Math.round(yOf(tick)), width - LEFT - RIGHT, 1);
		context.fillStyle = colours.muted;
		context.fillText(duration(tick), LEFT - 8, yOf(tick));
	}
	/* Thin where there are many: the line says it. */
	context.strokeStyle = context.fillStyle = colours.faint;
	context.beginPath();
	us.forEach((value, i) => context.lineTo(xOf(at[i] + value * D.steps.every / 2, width), yOf(value)));
	context.stroke();
	if (us.length < 160)
		us.forEach((value, i) => { context.beginPath(); context.arc(xOf(at[i] + value / 2, width), yOf(value), 2.2, 0, 7); context.fill(); });
	context.lineWidth = 3;
	if (us.length >= FEW_STEPS) levels.forEach((level, i) => {
		const before = levels[i - 1], last = level.end - 1, half = level.slope * (level.end - level.begin) / 2;
		context.strokeStyle = before && level.median > before.median || level.slope > 0 ? colours.late : colours.wait;
		context.beginPath();
		context.moveTo(xOf(at[level.begin], width), yOf(level.median - half));
		context.lineTo(xOf(at[last] + us[last] * D.steps.every, width), yOf(level.median + half));
		context.stroke();
	});
	context.lineWidth = 1;
	drawFindingLines(context, width, 12, height);
	context.textAlign = "left";
	context.font = "600 11.5px ui-sans-serif, system-ui, sans-serif";
	let edge = -1;
	for (const finding of [...findings].sort((a, b) => a.at - b.at)) {
		const x = xOf(finding.at, width), text = kindName(finding.kind);
		if (x < LEFT || x < edge) continue;
		const from = Math.min(x + 5, width - RIGHT - context.measureText(text).width);
		context.fillStyle = colours.late;
		context.fillText(text, from, 6);
		edge = from + context.measureText(text).width + 8;
	}
	context.font = "11.5px ui-sans-serif, system-ui, sans-serif";
	context.fillStyle = colours.faint;
	/* At the end of its line: further down it would be taken for the head of what stands there. */
	context.fillText("step time", width - RIGHT + 18, yOf(us[us.length - 1]));
}

function stepsChart(parent) {
	const count = D.steps.us.length;
	if (count < 2) {
		parent.append(el("p", { class: "lead" }, D.job.steps ? "Too few steps are known to draw their time." : "What a step is was not recognised: no step time."));
		return;
	}
	const texts = levelTexts();
	const text = texts.length ? `Step time: ${texts.slice(0, 3).map(one => one.text).join("; ")}${texts.length > 3 ? `; ${texts.length - 3} more changes` : ""}.`
		: `Step time: ${duration(D.steps.levels[0].median)} in the middle of ${plural(count, "step")}${count < FEW_STEPS ? ", too few to tell a lasting change" : D.findings.some(one => one.late) ? "" : "; no lasting change was found"}.`;
	parent.append(el("p", { class: "lead" }, text));
	const plot = el("div", { class: "plot" });
	parent.append(plot);
	const node = canvas(plot, text, () => STEPS_HEIGHT, drawSteps, true);
	node.id = "steps";
	let chosen = -1;
	const show = i => {
		const box = node.getBoundingClientRect(), number = D.steps.first + i * D.steps.every;
		showTip(box.left + xOf(D.steps.at[i], box.width), box.top + 40,
			el("b", {}, D.steps.every > 1 ? `steps ${number}–${number + D.steps.every - 1}, median` : `step ${number}`),
			el("div", {}, `${duration(D.steps.us[i])} · began at ${timeLabel(D.steps.at[i], span.until - span.from)} · ${clock(D.steps.at[i])} UTC`));
	};
	node.addEventListener("pointermove", event => {
		const box = node.getBoundingClientRect(), i = stepAt(usOf(event.clientX - box.left, box.width));
		if (i === null) hideTip(); else show(i);
	});
	node.addEventListener("pointerleave", hideTip);
	node.addEventListener("blur", hideTip);
	node.addEventListener("keydown", event => {
		const move = { ArrowLeft: -1, ArrowRight: 1, Home: -count, End: count }[event.key];
		if (!move) return;
		event.preventDefault();
		chosen = Math.min(count - 1, Math.max(0, chosen + move));
		show(chosen);
	});
}

/* Magnitudes: the largest in each piece of time, on a scale of powers of ten. */

const power = value => value > 0 ? Math.log10(value) : -Infinity;

function drawMagnitudes(group) {
	return (context, width, height) => {
		const values = group.columns.filter(column => column[1] > 1e-30), logs = values.map(column => power(column[1]));
		let low = Math.floor(Math.min(...logs) - .1), high = Math.ceil(Math.max(...logs) + .1);
		if (!values.length) { low = 0; high = 1; }
		const left = 38, yOf = log => height - 14 - (log - low) / (high - low || 1) * (height - 22);
		const x = column => left + column / D.numbers.of_columns * (width - left - 4);
		context.textAlign = "right";
		for (const tick of [low, high]) {
			context.fillStyle = colours.line;
			context.fillRect(left, Math.round(yOf(tick)), width - left - 4, 1);
			context.fillStyle = colours.muted;
			context.fillText(`1e${tick}`, left - 6, yOf(tick));
		}
		context.strokeStyle = colours.wait;
		context.lineWidth = 1.5;
		context.beginPath();
		values.forEach((column, i) => context.lineTo(x(column[0]), yOf(logs[i])));
		context.stroke();
		context.fillStyle = colours.wait;
		if (values.length < 90) values.forEach((column, i) => context.fillRect(x(column[0]) - 1.25, yOf(logs[i]) - 1.25, 2.5, 2.5));
		context.lineWidth = 1;
		for (const birth of D.numbers.births.filter(one => one.group === group.name)) {
			const at = left + (birth.at / D.job.end) * (width - left - 4);
			context.fillStyle = colours.bad;
			context.beginPath();
			context.moveTo(at - 5, 2);
			context.lineTo(at + 5, 2);
			context.lineTo(at, 10);
			context.fill();
			context.fillRect(at - .5, 8, 1, height - 22);
		}
	};
}

function magnitudesChart(parent, group) {
	const plot = el("div", { class: "plot" }, el("h3", { title: group.name }, group.name || "a communicator"));
	parent.append(plot);
	const node = canvas(plot, `largest magnitudes of ${group.name}`, () => 92, drawMagnitudes(group), true);
	const show = (i, x, y) => {
		const column = group.columns[i];
		if (column) showTip(x, y, el("b", {}, `largest magnitude ${column[1].toPrecision(4)}`), el("div", {}, `rank ${column[2]} · ${timeLabel(column[0] / D.numbers.of_columns * D.job.end, D.job.end)}`));
	};
	node.addEventListener("pointermove", event => {
		const box = node.getBoundingClientRect(), column = (event.clientX - box.left - 38) / (box.width - 42) * D.numbers.of_columns;
		let best = 0;
		group.columns.forEach((one, i) => { if (Math.abs(one[0] - column) < Math.abs(group.columns[best][0] - column)) best = i; });
		show(best, event.clientX, event.clientY);
	});
	node.addEventListener("pointerleave", hideTip);
	node.addEventListener("blur", hideTip);
	let chosen = -1;
	node.addEventListener("keydown", event => {
		const move = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
		if (!move) return;
		event.preventDefault();
		chosen = Math.min(group.columns.length - 1, Math.max(0, chosen + move));
		const box = node.getBoundingClientRect();
		show(chosen, box.left + 38, box.top + 30);
	});
}

function numbersSection() {
	const { groups, births } = D.numbers, scans = groups.reduce((sum, group) => sum + group.scans, 0);
	const node = section("values", "Values", `${scans.toLocaleString("en")} buffers scanned`);
	if (!scans) {
		node.append(el("p", { class: "quiet" }, "No buffer was scanned: nothing is known about values."));
		return;
	}
	if (births.length) {
		const first = [...births].sort((a, b) => a.at - b.at);
		node.append(el("p", { class: "lead" }, "Where each rank met its first bad value. Who made it the finding says, for the order of times is not the order of cause."));
		node.append(table(["at", "rank", "operation", "communicator", "in its", "NaN", "Inf", "first at"], first.map(birth => [
			duration(birth.at), rankCell(birth.rank), `${birth.function} #${birth.sequence}`, birth.group || "", birth.side,
			birth.nan.toLocaleString("en"), birth.inf.toLocaleString("en"), birth.first === null ? "" : `element ${birth.first.toLocaleString("en")}`])));
		if (D.numbers.more_births) node.append(el("p", { class: "quiet" }, `and ${plural(D.numbers.more_births, "more rank")}`));
	} else {
		node.append(el("p", { class: "lead" }, "No NaN and no Inf in what was scanned."));
	}
	node.append(el("h3", {}, "Largest magnitude by communicator"));
	const charts = el("div", { class: "small-charts" });
	node.append(charts);
	groups.forEach(group => magnitudesChart(charts, group));
	if (D.numbers.more) node.append(el("p", { class: "quiet" }, "There are more communicators than these."));
}
