// Runs in each frame before the scripts of a page: what leads out is taken away, what asks somebody is answered.
(() => {
	for (const name of ["RTCPeerConnection", "webkitRTCPeerConnection", "RTCDataChannel", "WebTransport", "PushManager"])
		delete globalThis[name];
	const nothing = (value) => function () { return value; };
	for (const [name, value] of [["alert"], ["confirm", false], ["prompt", null], ["print"]])
		globalThis[name] = nothing(value);
	for (const name of Object.keys(console)) if (typeof console[name] === "function") console[name] = nothing();
	if (globalThis.ServiceWorkerContainer)
		ServiceWorkerContainer.prototype.register = () => Promise.reject(new DOMException("refused", "SecurityError"));
	let workers = 0;
	for (const name of ["Worker", "SharedWorker"]) {
		if (!globalThis[name]) continue;
		globalThis[name] = new Proxy(globalThis[name], {construct(type, given) {
			if (++workers > 50) throw new DOMException("too many workers", "QuotaExceededError");
			return Reflect.construct(type, given);
		}});
	}
})();
