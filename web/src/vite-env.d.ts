/// <reference types="vite/client" />

declare module "virtual:zh" {
  const packed: import("./i18n/packed").Packed;
  export default packed;
}
