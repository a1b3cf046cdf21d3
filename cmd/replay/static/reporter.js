const script = document.currentScript, text = script.textContent, known = Symbol.for("henro");
if (here && parent !== self && location.host) {
  const name = here[4].endsWith(".ip6") ? "[" + here[4].slice(0, -4).replaceAll("-", ":") + "]" : here[4];
  parent.postMessage({henro: "/web/" + here[1] + "mp_/" + here[2] + "://" + name + (here[3] ? ":" + here[3] : "") + location.pathname + location.search}, "*");
}
const was = (ref) => ref.replace(/^http:\/\/\d+-(https?)(?:-(\d+))?\.([^/]+)\.archive\.localhost(?::\d+)?(?=\/|$)/, (all, scheme, port, name) => scheme + "://" + (name.endsWith(".ip6") ? "[" + name.slice(0, -4).replaceAll("-", ":") + "]" : name) + (port ? ":" + port : ""));
const leadTo = (given) => given.map((to, i) => i === 1 && /^https?:/i.test(to) ? lead(to) : to);
const far = new WeakMap();
const reached = (w) => {
  try { w?.document; return w; } catch {}
  if (!far.has(w)) far.set(w, new Proxy(w, {
    get: (of, name) => name === "postMessage" ? (...given) => of.postMessage(...leadTo(given)) : typeof of[name] === "function" ? of[name].bind(of) : of[name],
    set: (of, name, value) => { of[name] = name === "location" ? lead(value) : value; return true; },
  }));
  return far.get(w);
};
const speak = (w) => {
  const {parent} = w, near = parent !== w && reached(parent) === parent, as = (own, name, to) => {
    const {get, ...more} = Object.getOwnPropertyDescriptor(own, name);
    Object.defineProperty(own, name, {...more, get() { return to(get.call(this)); }});
  };
  w.parent = reached(parent);
  as(w.MessageEvent.prototype, "source", reached);
  as(w.MessageEvent.prototype, "origin", (from) => from === w.origin ? from : was(from));
  as(w.Document.prototype, "referrer", (from) => near ? from : was(from));
  const cookies = new Map();
  Object.defineProperty(w.Document.prototype, "cookie", {configurable: true, enumerable: true, get: () => Array.from(cookies.values()).join("; "), set(text) {
    const [pair, ...more] = String(text).split(";").map((part) => part.trim()), ends = more.map((part) => /^(?:max-age=(-?\d+)|expires=(.+))$/i.exec(part)).filter(Boolean);
    cookies.delete(pair.split("=")[0]);
    if (!ends.some(([, age, at]) => age ? age <= 0 : Date.parse(at) <= Date.now())) cookies.set(pair.split("=")[0], pair);
  }});
};
const guide = (w) => {
  asks(w, PRELUDE);
  speak(w);
  const {setAttribute} = w.Element.prototype;
  w.Element.prototype.setAttribute = function (name, value) { return setAttribute.call(this, name, /^(src|href|action|data|poster)$/i.test(name) ? lead(value) : value); };
  for (const [type, name] of [["Script", "src"], ["Image", "src"], ["Link", "href"], ["IFrame", "src"], ["Source", "src"], ["Media", "src"], ["Anchor", "href"], ["Form", "action"], ["Object", "data"]]) {
    const own = w["HTML" + type + "Element"].prototype, was = Object.getOwnPropertyDescriptor(own, name);
    Object.defineProperty(own, name, {...was, set(ref) { was.set.call(this, lead(ref)); }});
  }
  for (const name of ["pushState", "replaceState"]) {
    const was = w.History.prototype[name];
    w.History.prototype[name] = function (state, title, ref) { return was.call(this, state, title, ref == null ? ref : lead(ref)); };
  }
  w.addEventListener("click", (event) => { for (const e of event.composedPath()) if (e.localName === "a" && e.href) { const to = lead(e.href); if (to !== e.href) e.href = to; } }, true);
  w.document.addEventListener("securitypolicyviolation", (event) => {
    for (const e of w.document.querySelectorAll("[src],[href],[data]")) for (const name of ["src", "href", "data"]) if (e[name] === event.blockedURI) e[name] = lead(e[name]);
  });
};
const scrub = (w) => {
  try {
    if (!w || w.document[known]) return;
    Object.defineProperty(w.document, known, {value: true});
    for (const name of ["RTCPeerConnection", "webkitRTCPeerConnection"]) delete w[name];
    guard(w);
    if (w !== self) guide(w);
  } catch {}
};
const within = (w) => {
  try { while (w.parent !== w && w.parent.document) w = w.parent; } catch {}
  const each = (w) => { for (let i = 0; i < w.length; i++) { scrub(w[i]); each(w[i]); } };
  each(w);
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
      within(w);
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
        return name === "contentWindow" ? reached(got) : got;
      }});
    }
  }
  const own = w.Document.prototype, open = own.open;
  own.open = function (...given) { const to = open.apply(this, given); if (this === w.document) watch(w); return to; };
  for (const name of ["write", "writeln"]) {
    const write = own[name];
    own[name] = function (...given) { if (this === w.document && this.readyState !== "loading") this.open(); return write.apply(this, given); };
  }
  for (const type of ["Node", "Element", "CharacterData", "DocumentType", "Document", "DocumentFragment", "ShadowRoot", "Range"]) {
    const own = w[type].prototype;
    for (const [name, was] of Object.entries(Object.getOwnPropertyDescriptors(own))) {
      if (!/^(append|prepend$|before$|after$|insert|replace|surround|move|setHTML|exec|write|inner|outer)/.test(name)) continue;
      for (const how of ["value", "set"]) {
        const did = was[how];
        if (typeof did === "function") was[how] = function (...given) { try { return did.apply(this, given); } finally { within(w); } };
      }
      Object.defineProperty(own, name, was);
    }
  }
  const attach = w.Element.prototype.attachShadow;
  w.Element.prototype.attachShadow = function (o) { const root = attach.call(this, o); watch(root); return root; };
  for (const [of, name] of [[w.Element.prototype, "setHTMLUnsafe"], [w.ShadowRoot.prototype, "setHTMLUnsafe"], [w.Document, "parseHTMLUnsafe"]]) delete of[name];
};
scrub(self);
guide(self);
script.remove();
