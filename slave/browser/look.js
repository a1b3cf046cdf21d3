// Reads the page: its DOM with open shadow roots, text and links. What is larger than most is left out.
(most) => {
	const roots = [], links = new Set();
	const walk = (root) => {
		for (const e of root.querySelectorAll("*")) {
			if (e.shadowRoot && roots.length < 10000) {
				roots.push(e.shadowRoot);
				walk(e.shadowRoot);
			}
			const to = e.localName === "a" || e.localName === "area" ? e.href?.baseVal ?? e.href : "";
			if (to && links.size < 20000 && to.length < 4096) links.add(to);
		}
	};
	walk(document);
	const top = document.documentElement, tag = top?.cloneNode(false).outerHTML ?? "";
	let html = document.doctype ? new XMLSerializer().serializeToString(document.doctype) + "\n" : "";
	if (top?.getHTML) {
		const close = tag.lastIndexOf("</");
		html += tag.slice(0, close) + top.getHTML({shadowRoots: roots}) + tag.slice(close);
	} else html += top?.outerHTML ?? "";
	const text = [document.body?.innerText ?? top?.textContent ?? ""];
	for (const root of roots)
		for (const e of root.children) if (!/^(style|script|template)$/.test(e.localName)) text.push(e.innerText ?? "");
	const all = text.filter((t) => t.trim()).join("\n");
	return {HTML: html.length > most ? "" : html, Large: html.length > most, Title: document.title.slice(0, 10000),
		Text: all.slice(0, most), Links: [...links]};
}
