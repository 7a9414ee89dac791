// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import CHTTPDNSCurl
internal import Glibc

/// The descriptors of a loop: one that becomes readable when another thread has work for it, and its epoll instance. Both are
/// made before the thread: a loop without them is not started.
///
/// Safe to share: the descriptors never change, and the kernel serializes the writes.
package final class Waker: Sendable {
    private static let eventCapacity = 256

    /// The eventfd that the loop waits on.
    let descriptor: Int32
    /// The epoll instance of the loop.
    let epoll: Int32

    /// - Throws: ``TransferFailure`` when the system has no free descriptor.
    package init() throws(TransferFailure) {
        let descriptor = eventfd(0, Int32(EFD_NONBLOCK) | Int32(EFD_CLOEXEC))
        guard descriptor >= 0 else { throw TransferFailure.noDescriptor(errno) }
        epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
        guard epoll >= 0 else {
            let error = errno
            close(descriptor)
            throw TransferFailure.noDescriptor(error)
        }
        self.descriptor = descriptor
    }

    package func wake() {
        var one: UInt64 = 1
        _ = write(descriptor, &one, 8)
    }

    /// Reports a socket under a number above 0, once for each time that it becomes ready. Closing it ends that.
    /// - Parameter sends: Whether it is also ready when it can send.
    /// - Throws: ``TransferFailure`` when the kernel refuses to watch it.
    package func watch(_ socket: Int32, as number: UInt64, sends: Bool) throws(TransferFailure) {
        var event = epoll_event()
        event.events = EPOLLIN.rawValue | EPOLLET.rawValue | (sends ? EPOLLOUT.rawValue : 0)
        event.data.u64 = number
        guard epoll_ctl(epoll, EPOLL_CTL_ADD, socket, &event) == 0 else { throw .notWatched(errno) }
    }

    /// Waits for sockets, and passes their numbers on, as long as there is work.
    /// - Parameters:
    ///   - hasWork: Asked again after each wait, which ``wake()`` ends.
    ///   - isReady: Receives the number of a socket, which may be closed by now.
    package func run(while hasWork: () -> Bool, isReady: (UInt64) -> Void) {
        let events = UnsafeMutablePointer<epoll_event>.allocate(capacity: Waker.eventCapacity)
        defer { events.deallocate() }
        // The kernel refuses only for lack of memory. Each wait for a socket has a deadline.
        guard (try? watch(descriptor, as: 0, sends: false)) != nil else { return }
        while hasWork() {
            let count = epoll_wait(epoll, events, Int32(Waker.eventCapacity), -1)
            for index in 0..<Int(max(0, count)) where events[index].data.u64 != 0 { isReady(events[index].data.u64) }
        }
    }

    deinit {
        close(epoll)
        close(descriptor)
    }
}
