// Does to a page what a reader would: scrolls to its end, opens what is folded, asks for more, plays. Bounded by until
// (milliseconds) and by counts. It ends where the page does. Cookie banners, forms and menus are left alone.
async (until) => {
	const end = performance.now() + until, left = () => performance.now() < end;
	const wait = (ms) => new Promise((done) => setTimeout(done, ms));
	const apart = "form, nav, header, footer, [role=dialog], [role=menu], [role=menubar], [id*=cookie i], " +
		"[class*=cookie i], [id*=consent i], [class*=consent i], [id*=gdpr i], [class*=gdpr i], [aria-label*=cookie i]";
	const may = (e) => !e.closest(apart) && !e.disabled && e.getClientRects().length > 0;
	const more = new RegExp("^\\W*(" + ["(load|show|see|view|read) (more|all)\\b.*", "more( results| posts| items)?",
		"(mehr|weitere)( \\S+)? (laden|anzeigen)", "(afficher|voir|charger) (plus|la suite).*", "(cargar|ver|mostrar) más.*",
		"(carica|mostra) altr[io].*", "(carregar|ver|mostrar) mais.*", "(もっと|さらに)(見る|読み込む|表示)(する)?",
		"(查看|加载|显示|顯示|載入)更多", "(показать|загрузить) (ещё|еще|больше).*", "더 ?보기"].join("|") + ")\\W*$", "i");
	const scroll = async () => {
		let tall = -1;
		for (let i = 0; i < 40 && left(); i++) {
			scrollBy({top: innerHeight * 0.9, behavior: "instant"});
			await wait(60);
			const page = document.scrollingElement ?? document.documentElement;
			if (page.scrollTop + innerHeight < page.scrollHeight - 2) continue;
			if (page.scrollHeight === tall) break;
			tall = page.scrollHeight;
			await wait(250);
		}
	};
	for (const e of document.querySelectorAll("img[loading=lazy], iframe[loading=lazy]")) e.loading = "eager";
	for (const e of [...document.querySelectorAll("details:not([open])")].slice(0, 200)) if (!e.closest(apart)) e.open = true;
	for (const e of [...document.querySelectorAll("video, audio")].slice(0, 5)) {
		e.muted = true;
		e.play?.().catch(() => {});
	}
	await scroll();
	for (let i = 0; i < 10 && left(); i++) {
		const button = [...document.querySelectorAll("button, [role=button], a[href='#'], a:not([href])")].slice(0, 2000)
			.find((e) => may(e) && e.textContent.length < 60 && more.test(e.textContent.trim()));
		if (!button) break;
		const before = document.body?.textContent.length;
		button.click();
		for (let j = 0; j < 10 && left() && document.body?.textContent.length === before; j++) await wait(100);
		if (document.body?.textContent.length === before) break;
		await scroll();
	}
	const tabs = [...document.querySelectorAll("[role=tab]")].filter(may).slice(0, 20);
	const chosen = tabs.filter((e) => e.ariaSelected === "true");
	const folded = [...document.querySelectorAll("[aria-expanded=false][aria-controls]:not([aria-haspopup])")].filter(may);
	for (const e of [...tabs.filter((e) => e.ariaSelected !== "true"), ...chosen, ...folded.slice(0, 20)]) {
		if (!left()) break;
		e.click();
		await wait(50);
	}
}
