// The page's worker: one message with the module, then one for each proof. An answer has the number of its question: files may be
// others by then.

let compiled;

self.onmessage = async ({ data }) => {
  try {
    if (data.module) {
      compiled = WebAssembly.compile(data.module);
      return;
    }
    self.postMessage({ turn: data.turn, verified: await verifyWith(await compiled, data) });
  } catch (error) {
    self.postMessage({ turn: data.turn, refused: error.message });
  }
};
