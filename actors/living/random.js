{
	let state = 7;
	for (const c of location.pathname + location.search) state = Math.imul(state ^ c.codePointAt(0), 16777619);
	const draw = () => {
		let t = state = state + 0x6d2b79f5 | 0;
		t = Math.imul(t ^ t >>> 15, t | 1);
		t ^= t + Math.imul(t ^ t >>> 7, t | 61);
		return (t ^ t >>> 14) >>> 0;
	};
	Math.random = () => draw() / 2 ** 32;
	const own = self.Crypto?.prototype, fill = own?.getRandomValues;
	if (own) own.getRandomValues = function (to) {
		fill.call(this, to);
		const bytes = new Uint8Array(to.buffer, to.byteOffset, to.byteLength);
		for (let i = 0; i < bytes.length; i++) bytes[i] = draw();
		return to;
	};
	if (own?.randomUUID) own.randomUUID = function () {
		const b = this.getRandomValues(new Uint8Array(16)), hex = (n) => n.toString(16).padStart(2, "0");
		b[6] = b[6] & 15 | 64, b[8] = b[8] & 63 | 128;
		return Array.from(b, hex).join("").replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
	};
}
