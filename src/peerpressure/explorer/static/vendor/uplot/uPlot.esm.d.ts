// The types that uPlot publishes; the version in package.json is the one vendored here.
export { default } from "uplot";
