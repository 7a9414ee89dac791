internal import CHTTPDNSCurl

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#else
internal import Darwin
#endif

/// A descriptor that becomes readable when another thread has work for a sleeping loop.
///
/// Safe to share: the descriptors never change, and the kernel serializes the writes to them.
final class Waker: Sendable {
    /// The end that the loop waits on.
    let descriptor: Int32
    private let writeEnd: Int32

    /// - Throws: ``TransferFailure`` when the system has no free descriptor.
    init() throws(TransferFailure) {
        #if os(Linux)
        descriptor = eventfd(0, Int32(EFD_NONBLOCK) | Int32(EFD_CLOEXEC))
        writeEnd = descriptor
        guard descriptor >= 0 else { throw TransferFailure.noDescriptor(errno) }
        #else
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw TransferFailure.noDescriptor(errno) }
        for end in ends {
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
        }
        descriptor = ends[0]
        writeEnd = ends[1]
        #endif
    }

    func wake() {
        var one: UInt64 = 1
        _ = write(writeEnd, &one, 8)
    }

    /// Clears all wake-ups so far.
    func clear() {
        var value: UInt64 = 0
        while read(descriptor, &value, 8) > 0 && descriptor != writeEnd {}
    }

    deinit {
        close(descriptor)
        if writeEnd != descriptor { close(writeEnd) }
    }
}
