#!/usr/bin/env bash
# Install Chromium for the tests of pages, best without a window. It is no Python package, so it is installed only where
# that takes no password.
install() {
  DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends fonts-dejavu-core fonts-liberation "$1" >/dev/null
}
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  echo "Installing Chromium for the tests of pages …"
  apt-get update -qq && { install chromium-headless-shell 2>/dev/null || install chromium; } && exit
fi
echo "Chromium is not to be had; the tests of pages in a browser will be skipped"
