internal import HTTPDNSPrimitives

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#else
internal import Darwin
#endif

/// What the tasks that perform requests have for the thread of the socket, and a descriptor that wakes it.
///
/// Safe to share: the descriptors never change, and the kernel serializes what is written to them.
final class ControlMailbox: Sendable {
    enum Message: Sendable {
        /// A line for a connection.
        case line([UInt8], UInt64)
        /// A request of a connection is done with.
        case performed(ControlRequest, UInt64)
        /// The socket ends.
        case stop
    }

    private let messages = Lock<[Message]>([])
    /// The end that the thread waits on.
    let descriptor: Int32
    private let writeEnd: Int32

    /// - Throws: The number of the system's error.
    init() throws(SystemErrorNumber) {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw SystemErrorNumber(errno) }
        for end in ends {
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
        }
        (descriptor, writeEnd) = (ends[0], ends[1])
    }

    func post(_ message: Message) {
        let isFirst = messages.withLock { messages in
            messages.append(message)
            return messages.count == 1
        }
        guard isFirst else { return }
        var one: UInt8 = 1
        _ = write(writeEnd, &one, 1)
    }

    /// Everything since the last time.
    func take() -> [Message] {
        // First the pipe: what is posted between both is taken now, and its wake costs one turn for nothing.
        var octets = [UInt8](repeating: 0, count: 64)
        while read(descriptor, &octets, octets.count) > 0 {}
        return messages.withLock { messages in
            defer { messages = [] }
            return messages
        }
    }

    deinit {
        close(descriptor)
        close(writeEnd)
    }
}

/// What the system said.
struct SystemErrorNumber: Error, Hashable, CustomStringConvertible {
    let number: Int32

    init(_ number: Int32) { self.number = number }

    var description: String { String(cString: strerror(number)) }
}
