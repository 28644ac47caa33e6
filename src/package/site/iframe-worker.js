// The search where the site is opened as files: browsers start no worker there. It runs in a frame.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(address) {
      super();
      this.waiting = [];
      const frame = document.createElement("iframe");
      Object.assign(frame, { hidden: true, srcdoc: "<body></body>" });
      frame.onload = () => this.run(frame.contentWindow, address);
      document.documentElement.append(frame);
    }
    run(inner, address) {
      inner.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      const script = inner.document.createElement("script");
      script.onload = () => {
        this.postMessage = (data) =>
          inner.dispatchEvent(new inner.MessageEvent("message", { data }));
        this.waiting.forEach((data) => this.postMessage(data));
      };
      script.src = address;
      inner.document.body.append(script);
    }
    postMessage(data) {
      this.waiting.push(data);
    }
    terminate() {}
  };
}
