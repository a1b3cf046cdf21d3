"use strict";
const api = location.protocol + "//api.living.test:8480";
importScripts(api + "/global.js?worker");
fetch(api + "/v1/items?worker").then((a) => a.json()).then((d) => postMessage(d.items.length + " items, " + (self.global === "set" ? "far" : "")));
