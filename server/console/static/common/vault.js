// What a browser stores for the next visit, encrypted with a key derived from the analyst's, so that other people at a
// shared computer cannot read it. Without cryptography (a page over plain HTTP) it is stored in this tab only.

const PREFIX = "noisegate.vault.";
const KEPT_AT_SIGN_OUT = ".saved";
const utf8 = new TextEncoder();

export class Vault {
  constructor(name, seal) {
    Object.assign(this, { name, seal, closed: false });
  }

  static async open(key) {
    if (!globalThis.crypto?.subtle) return new Vault(`${PREFIX}tab`, null);
    const whole = await crypto.subtle.importKey("raw", utf8.encode(key), "HKDF", false, ["deriveBits", "deriveKey"]);
    const from = (info) => ({ name: "HKDF", hash: "SHA-256", salt: new Uint8Array(), info: utf8.encode(info) });
    const bits = new Uint8Array(await crypto.subtle.deriveBits(from("noisegate console: name"), whole, 64));
    const name = [...bits].map((byte) => byte.toString(16).padStart(2, "0")).join("");
    const aes = { name: "AES-GCM", length: 256 };
    return new Vault(PREFIX + name, await crypto.subtle.deriveKey(from("noisegate console: seal"), whole, aes, false, ["encrypt", "decrypt"]));
  }

  async get(what, otherwise) {
    const name = `${this.name}.${what}`;
    try {
      if (!this.seal) return JSON.parse(sessionStorage.getItem(name)) ?? otherwise;
      const kept = Uint8Array.from(atob(localStorage.getItem(name) ?? ""), (letter) => letter.charCodeAt(0));
      if (!kept.length) return otherwise;
      const opened = await crypto.subtle.decrypt({ name: "AES-GCM", iv: kept.slice(0, 12) }, this.seal, kept.slice(12));
      return JSON.parse(new TextDecoder().decode(opened));
    } catch {
      return otherwise; // of another version, or damaged
    }
  }

  async set(what, value) {
    const name = `${this.name}.${what}`;
    if (!this.seal) return sessionStorage.setItem(name, JSON.stringify(value));
    const iv = crypto.getRandomValues(new Uint8Array(12));
    const sealed = new Uint8Array(await crypto.subtle.encrypt({ name: "AES-GCM", iv }, this.seal, utf8.encode(JSON.stringify(value))));
    if (this.closed) return; // signed out meanwhile
    localStorage.setItem(name, btoa(Array.from([...iv, ...sealed], (byte) => String.fromCharCode(byte)).join("")));
  }
}

// Signing out leaves nothing readable of the analyst's in this browser. The page is opened again, since a reload could
// restore what was typed. Saved questions stay, encrypted.
export function signOut(vault = null) {
  if (vault) vault.closed = true;
  for (const store of [sessionStorage, localStorage]) {
    for (const name of Object.keys(store).filter((each) => each.startsWith("noisegate."))) {
      if (!(store === localStorage && name.startsWith(PREFIX) && name.endsWith(KEPT_AT_SIGN_OUT))) store.removeItem(name);
    }
  }
  location.replace(location.pathname);
}
