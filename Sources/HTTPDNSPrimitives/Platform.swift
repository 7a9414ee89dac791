#if !os(Linux)
#error("swift-httpdns runs on Linux. On macOS, use a dev container with a Swift image, such as swift:6.2-bookworm.")
#endif
