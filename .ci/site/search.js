// Searches the sections in index.js, which is loaded with the page: no server, also from a file.
const input = document.getElementById("search"), list = document.getElementById("found");
const most = 20, around = 60;

// What is written with spaces is found where a word begins ("lease", not "release"), Japanese anywhere.
function pattern(word) {
	const plain = word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
	return new RegExp((/^[a-z0-9]/.test(word) ? "(?<![a-z0-9])" : "") + plain, "gi");
}

// score is higher the more often words stand in a section, and the shorter it is; a heading counts most.
function score(section, patterns) {
	const head = section.p + " " + section.h;
	let sum = 0;
	for (const word of patterns) {
		const n = (section.t.match(word) ?? []).length, inHead = head.search(word) >= 0;
		if (!n && !inHead) return 0;
		sum += Math.log(1 + n) + (inHead ? 5 : 0);
	}
	return sum / Math.log(99 + section.t.length);
}

function extract(section, word) {
	const at = section.t.search(word), small = document.createElement("small");
	if (at < 0) return small;
	const mark = document.createElement("mark"), end = at + section.t.match(word)[0].length;
	mark.textContent = section.t.slice(at, end);
	small.append(section.t.slice(Math.max(0, at - around), at), mark, section.t.slice(end, end + around));
	return small;
}

function search() {
	const words = input.value.toLowerCase().split(/\s+/).filter(word => word).map(pattern);
	list.replaceChildren();
	list.hidden = !words.length;
	if (!words.length) return;
	const hits = index.map(section => [score(section, words), section]).filter(([n]) => n > 0);
	hits.sort((a, b) => b[0] - a[0]);
	for (const [, section] of hits.slice(0, most)) {
		const item = document.createElement("li"), link = document.createElement("a");
		link.href = input.dataset.root + section.u;
		link.textContent = section.h && section.h !== section.p ? section.p + ": " + section.h : section.p;
		item.append(link, extract(section, words[0]));
		list.append(item);
	}
	if (!hits.length) {
		const none = document.createElement("li");
		none.textContent = list.dataset.none;
		list.append(none);
	}
}

input.addEventListener("input", search);
input.form.addEventListener("submit", event => { // Enter: to the first
	event.preventDefault();
	list.querySelector("a")?.click();
});
// A hit on this page leads away from the list.
list.addEventListener("click", event => {
	if (!event.target.closest("a")) return;
	input.value = "";
	search();
});
