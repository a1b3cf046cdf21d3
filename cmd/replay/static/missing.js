// Says to the banner that the frame came to a page that is not archived.
if (parent !== self) parent.postMessage({henro: document.currentScript.dataset.at}, "*");
