{const script = document.currentScript, text = script.textContent, known = new WeakSet();
if (parent !== self && !/^about:/.test(location.href)) parent.postMessage({henro: location.pathname + location.search}, "*");
const scrub = (w) => {
  try {
    if (!w || known.has(w.document)) return;
    known.add(w.document);
    for (const name of ["RTCPeerConnection", "webkitRTCPeerConnection"]) delete w[name];
    guard(w);
  } catch {}
};
const inner = (f) => {
  if (f.srcdoc && !f.srcdoc.startsWith("<script>" + text)) f.srcdoc = "<script>" + text + "<\/script>" + f.srcdoc;
};
const guard = (w) => {
  const isFrame = (e) => e && (e.localName === "iframe" || e.localName === "frame" || e.localName === "object" || e.localName === "embed");
  const loaded = (event) => { if (isFrame(event.target)) scrub(event.target.contentWindow); };
  const watch = (root) => {
    root.addEventListener("load", loaded, true);
    new w.MutationObserver((all) => {
      for (const m of all) {
        if (m.type === "attributes") inner(m.target);
        else for (const n of m.addedNodes) if (n.querySelectorAll) for (const f of [n, ...n.querySelectorAll("iframe")]) if (f.localName === "iframe") inner(f);
      }
    }).observe(root === w ? w.document : root, {childList: true, subtree: true, attributes: true, attributeFilter: ["srcdoc"]});
  };
  watch(w);
  for (const type of ["HTMLIFrameElement", "HTMLFrameElement", "HTMLObjectElement"]) {
    const own = w[type].prototype;
    for (const name of ["contentWindow", "contentDocument"]) {
      const get = Object.getOwnPropertyDescriptor(own, name)?.get;
      if (!get) continue;
      Object.defineProperty(own, name, {configurable: true, enumerable: true, get() {
        const got = get.call(this);
        scrub(name === "contentWindow" ? got : got?.defaultView);
        return got;
      }});
    }
  }
  const own = w.Document.prototype, open = own.open;
  own.open = function (...given) { const to = open.apply(this, given); if (this === w.document) watch(w); return to; };
  for (const name of ["write", "writeln"]) {
    const write = own[name];
    own[name] = function (...given) { if (this === w.document && this.readyState !== "loading") this.open(); return write.apply(this, given); };
  }
  const attach = w.Element.prototype.attachShadow;
  w.Element.prototype.attachShadow = function (o) { const root = attach.call(this, o); watch(root); return root; };
  for (const [of, name] of [[w.Element.prototype, "setHTMLUnsafe"], [w.ShadowRoot.prototype, "setHTMLUnsafe"], [w.Document, "parseHTMLUnsafe"]]) delete of[name];
};
scrub(self);
script.remove();}
