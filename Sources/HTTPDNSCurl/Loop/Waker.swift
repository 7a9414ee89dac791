internal import CHTTPDNSCurl
internal import Glibc

/// A descriptor that becomes readable when another thread has work for a sleeping loop.
///
/// Safe to share: the descriptors never change, and the kernel serializes the writes to them.
final class Waker: Sendable {
    /// The end that the loop waits on.
    let descriptor: Int32
    private let writeEnd: Int32

    /// - Throws: ``TransferFailure`` when the system has no free descriptor.
    init() throws(TransferFailure) {
        descriptor = eventfd(0, Int32(EFD_NONBLOCK) | Int32(EFD_CLOEXEC))
        writeEnd = descriptor
        guard descriptor >= 0 else { throw TransferFailure.noDescriptor(errno) }
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
