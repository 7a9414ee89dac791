// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if !os(Linux)
#error("swift-httpdns runs on Linux. On macOS, use a dev container with a Swift image, such as swift:6.2-bookworm.")
#endif
