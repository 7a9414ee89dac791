#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#else
internal import Darwin
#endif

/// A socket that a child process does not inherit, or -1 with the error's number.
func openSocket(_ family: Int32, _ type: Int32, _ transportProtocol: Int32) -> (descriptor: Int32, error: Int32) {
    #if os(Linux)
    let descriptor = socket(family, type | Int32(SOCK_CLOEXEC.rawValue), transportProtocol)
    #else
    let descriptor = socket(family, type, transportProtocol)
    if descriptor >= 0 { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
    #endif
    return (descriptor, descriptor < 0 ? errno : 0)
}

func closeSocket(_ descriptor: Int32) -> Int32 {
    close(descriptor)
}

/// Whether two C strings are the same bytes.
func textsAreEqual(_ left: UnsafePointer<CChar>, _ right: UnsafePointer<CChar>) -> Bool {
    strcmp(left, right) == 0
}

/// What the system calls an error number.
func systemErrorText(_ number: Int32) -> String {
    String(cString: strerror(number))
}
