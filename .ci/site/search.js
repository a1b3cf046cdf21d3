// Searches the sections in index.js, which is loaded with the page: no server, also from a file.
const input = document.getElementById("search"), list = document.getElementById("found");
const most = 20, around = 60;

function score(section, words) {
	const head = (section.p + " " + section.h).toLowerCase(), text = section.t.toLowerCase();
	let sum = 0;
	for (const word of words) {
		const n = text.split(word).length - 1, inHead = head.includes(word);
		if (!n && !inHead) return 0;
		sum += Math.log(1 + n) + (inHead ? 5 : 0);
	}
	return sum;
}

function extract(section, word) {
	const at = section.t.toLowerCase().indexOf(word), small = document.createElement("small");
	if (at < 0) return small;
	const mark = document.createElement("mark");
	mark.textContent = section.t.slice(at, at + word.length);
	small.append(section.t.slice(Math.max(0, at - around), at), mark, section.t.slice(at + word.length, at + word.length + around));
	return small;
}

input.form.addEventListener("submit", event => event.preventDefault());
input.addEventListener("input", () => {
	const words = input.value.toLowerCase().split(/\s+/).filter(word => word);
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
	if (!hits.length) list.textContent = "–";
});
