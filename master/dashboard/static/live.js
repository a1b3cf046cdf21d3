// Keeps a page of the dashboard up to date, and makes it quick to use by keyboard. Every page can be used without this file.
(() => {
	"use strict";
	const root = document.documentElement, body = document.body, hold = document.getElementById("hold");
	root.classList.add("scripted");

	// Parts that change. One that has the focus, or in which text is selected, is left alone until it has not: nobody loses their place.
	const pending = new Map();
	function busy(element) {
		if (element.contains(document.activeElement)) return true;
		const selection = getSelection();
		return !selection.isCollapsed && selection.anchorNode && element.contains(selection.anchorNode);
	}
	function replace(id, html) {
		const element = document.getElementById(id);
		if (!element) return;
		if (busy(element)) { pending.set(id, html); return; }
		pending.delete(id);
		const left = element.firstElementChild && element.firstElementChild.scrollLeft;
		const opened = [...element.querySelectorAll("details[id][open]")].map(details => details.id);
		element.innerHTML = html; // escaped by the server; the policy of the page runs no script in it
		for (const id of opened) { const details = document.getElementById(id); if (details) details.open = true; }
		if (left) element.firstElementChild.scrollLeft = left;
	}
	function settle() { for (const [id, html] of [...pending]) replace(id, html); }
	document.addEventListener("focusout", () => setTimeout(settle));
	document.addEventListener("selectionchange", settle);

	// The stream. The browser opens it again by itself, and says up to where it has samples.
	let stream = null, held = false;
	function label(word) {
		root.classList.toggle("lost", word === "lost");
		const text = hold.querySelector(".label");
		text.textContent = text.dataset[word];
	}
	function open() {
		if (stream || !body.dataset.of) return; // a page that says what went wrong does not change
		stream = new EventSource("/events?of=" + encodeURIComponent(body.dataset.of));
		stream.onopen = () => label("live");
		stream.onerror = () => { label("lost"); if (stream && stream.readyState === EventSource.CLOSED) { close(); setTimeout(again, 10000); } };
		stream.addEventListener("part", event => { const part = JSON.parse(event.data); replace(part.id, part.html); });
		stream.addEventListener("samples", event => draw(JSON.parse(event.data)));
	}
	function close() { if (stream) stream.close(); stream = null; }
	function again() { if (!held && document.visibilityState === "visible") open(); }
	function toggle() {
		held = !held;
		hold.setAttribute("aria-pressed", String(held));
		if (held) { close(); label("held"); } else { open(); label("live"); }
	}
	if (hold) hold.addEventListener("click", toggle);
	document.addEventListener("visibilitychange", () => { if (document.visibilityState === "hidden") close(); else again(); });
	addEventListener("pagehide", close);

	// The chart.
	const place = document.getElementById("chart"), columns = [[], [], []];
	const most = new URLSearchParams(location.search).get("range") === "day" ? 1440 : 600;
	let chart = null, last = 0;
	const clock = (seconds, parts) => new Date((seconds + Number(body.dataset.east)) * 1000).toLocaleTimeString([], { hour12: false, timeZone: "UTC", ...parts }); // of the master's zone, as everywhere on the page
	function short(value) {
		if (value >= 1e6) return +(value / 1e6).toPrecision(3) + " M";
		if (value >= 1e3) return +(value / 1e3).toPrecision(3) + " k";
		return String(+value.toPrecision(3));
	}
	function make() {
		const colour = name => getComputedStyle(root).getPropertyValue("--" + name).trim();
		const font = "12px " + getComputedStyle(body).fontFamily;
		const axis = { stroke: colour("soft"), font, grid: { stroke: colour("line"), width: 1 }, ticks: { show: false } };
		place.textContent = "";
		chart = new uPlot({
			width: place.clientWidth, height: 232, cursor: { y: false, drag: { x: false, y: false }, points: { size: 7 } }, legend: { live: true },
			scales: { x: { time: true }, y: { range: (_, low, high) => [0, Math.max(1, high * 1.12)] } },
			axes: [{ ...axis, size: 30, grid: { show: false }, values: (_, ticks) => ticks.map(t => clock(t, { hour: "2-digit", minute: "2-digit", second: most === 600 ? "2-digit" : undefined })), space: 96 },
				{ ...axis, size: 48, values: (_, ticks) => ticks.map(short) }],
			series: [{ label: place.dataset.time, value: (_, t) => t == null ? "–" : clock(t) },
				{ label: place.dataset.pages, stroke: colour("one"), fill: colour("one-fill"), width: 1.75, points: { show: false }, value: (_, v) => v == null ? "–" : short(v) },
				{ label: place.dataset.errors, stroke: colour("bad"), width: 1.5, points: { show: false }, value: (_, v) => v == null ? "–" : short(v) }],
		}, columns, place);
	}
	function draw(samples) {
		if (!place || typeof uPlot === "undefined") return;
		for (const [at, pages, , errors] of samples) {
			if (at <= last) continue;
			last = at;
			[at / 1000, pages, errors].forEach((value, i) => { columns[i].push(value); if (columns[i].length > most) columns[i].shift(); });
		}
		if (columns[0].length < 2) return;
		if (chart) chart.setData(columns); else make();
	}
	if (place) {
		new ResizeObserver(() => { if (chart && Math.abs(chart.width - place.clientWidth) > 1) chart.setSize({ width: place.clientWidth, height: 232 }); }).observe(place);
		matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { if (chart) { chart.destroy(); make(); } });
	}

	// Menus close when somebody looks elsewhere, and by Escape, which gives the focus back.
	document.addEventListener("click", event => { for (const menu of document.querySelectorAll("details.menu[open]")) if (!menu.contains(event.target)) menu.open = false; });
	document.addEventListener("toggle", event => { if (event.target.open) { const first = event.target.querySelector("textarea, button"); if (first) first.focus(); } }, true);

	// Keys, unless they are switched off or something is being written.
	const box = document.getElementById("keys-on"), off = () => localStorage.getItem("henro-keys") === "off";
	if (box) {
		box.checked = !off();
		box.addEventListener("change", () => localStorage.setItem("henro-keys", box.checked ? "on" : "off"));
	}
	let going = 0;
	document.addEventListener("keydown", event => {
		if (event.key === "Escape") {
			const menu = document.querySelector("details.menu[open]");
			if (menu) { menu.open = false; menu.querySelector("summary").focus(); }
			return;
		}
		if (off() || event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, textarea, select")) return;
		if (Date.now() - going < 1500) {
			const link = document.querySelector("nav a[data-key=\"" + CSS.escape(event.key) + "\"]");
			going = 0;
			if (link) { event.preventDefault(); link.click(); }
			return;
		}
		const search = document.getElementById("q");
		if (event.key === "g") going = Date.now();
		else if (event.key === "h" && hold) toggle();
		else if (event.key === "?") location.href = "/help";
		else if (event.key === "/") { event.preventDefault(); if (search) { search.focus(); search.select(); } else location.href = "/hosts"; }
	});

	open();
})();
