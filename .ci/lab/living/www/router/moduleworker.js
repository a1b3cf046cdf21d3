import {far} from "http://api.living.test:8480/far.js?module";
const d = await (await fetch(location.protocol + "//api.living.test:8480/v1/items?module")).json();
postMessage(far + ", " + d.items.length + " items");
