// Opens what is closed of a page's menus and trees, one after another, and returns where its links lead then. The page
// is another afterwards: all else was seen before. Bounded by until (milliseconds) and by counts.
async (until) => {
	const end = performance.now() + until, links = new Set(), met = new WeakSet();
	const apart = "input, select, textarea, [disabled], a[href]:not([href^='#']), [role=combobox], [type=submit]";
	for (let i = 0; i < 200 && performance.now() < end; i++) {
		const e = [...document.querySelectorAll("[aria-expanded=false]")].slice(0, 2000)
			.find((e) => !met.has(e) && !e.matches(apart) && e.getClientRects().length > 0);
		if (!e) break;
		met.add(e);
		for (const [type, of] of [["down", 1], ["up", 0]]) {
			const how = {bubbles: true, cancelable: true, composed: true, button: 0, buttons: of};
			e.dispatchEvent(new PointerEvent("pointer" + type, {...how, pointerType: "mouse", isPrimary: true}));
			e.dispatchEvent(new MouseEvent("mouse" + type, how));
		}
		e.click();
		await new Promise((done) => setTimeout(done, 50));
		for (const to of [location, ...document.links]) if (links.size < 5000 && to.href.length < 4096) links.add(to.href);
	}
	return [...links];
}
