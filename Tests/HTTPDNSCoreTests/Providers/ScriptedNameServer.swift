// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Glibc
import HTTPDNSPrimitives
import ServerRig

/// A name server that answers from a script, over UDP and TCP on one port of 127.0.0.1.
final class ScriptedNameServer: Sendable {
    /// A query that has arrived.
    struct Query: Sendable {
        var message: [UInt8]
        var isStream: Bool
        /// 0 for the first one over this protocol.
        var number: Int

        private var questionEnd: Int { (message[12...].firstIndex(of: 0) ?? 12) + 5 }
        /// The name as in the message.
        var name: [UInt8] { Array(message[12..<questionEnd - 4]) }
        var type: UInt16 { UInt16(message[questionEnd - 3]) }
        var hasOptions: Bool { message[11] == 1 }
        var id: UInt16 { UInt16(message[0]) << 8 | UInt16(message[1]) }

        /// Returns a message with an address: 192.0.2.1 for A, and none for other types, unless there is another one.
        func answer(
            code: UInt16 = 0,
            flags: UInt16 = 0x8180,
            id: UInt16? = nil,
            name: [UInt8]? = nil,
            address: [UInt8]? = nil,
            options: [UInt8]? = nil,
            repeatsQuestion: Bool = true
        ) -> [UInt8] {
            var builder = DNSMessageBuilder()
            (builder.id, builder.flags, builder.responseCode) = (id ?? self.id, flags, code)
            let name = name ?? self.name
            if repeatsQuestion { builder.questions = [DNSMessageBuilder.question(name, type: type)] }
            if code == 0, flags & 0x0200 == 0, let address = address ?? (type == 1 ? [192, 0, 2, 1] : nil),
                !address.isEmpty
            {
                builder.append(DNSMessageBuilder.record(name, type: type, data: address))
            }
            if let options { builder.options(data: options) }
            return builder.octets
        }

        var lowercased: [UInt8] { name.map { (65...90).contains($0) ? $0 | 0x20 : $0 } }
    }

    typealias Script = @Sendable (Query) -> [[UInt8]]

    let port: UInt16
    var endpoint: HTTPDNSEndpoint { HTTPDNSEndpoint(address: HTTPDNSAddress(v4: 127, 0, 0, 1), port: port) }
    /// The queries so far.
    var queries: [Query] { seen.read { $0 } }
    var streams: Int { queries.count(where: \.isStream) }

    private let seen = Monitor<[Query]>([])
    /// The end of a pipe whose closing ends the thread.
    private let stop: Int32

    /// - Parameters:
    ///   - pieces: The bytes in each segment over TCP.
    ///   - takesStreams: Whether it listens over TCP.
    ///   - script: The messages for a query; none leaves it without an answer. Over TCP the connection is closed after the last one.
    init(pieces: Int = .max, takesStreams: Bool = true, _ script: @escaping Script) throws {
        let listener = try LoopbackSocket(backlog: 64)
        port = listener.port
        let datagrams = socket(AF_INET, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        let endpoint = HTTPDNSEndpoint(address: HTTPDNSAddress(v4: 127, 0, 0, 1), port: port)
        guard endpoint.withSocketAddress({ bind(datagrams, $0, $1) }) == 0 else { throw SystemErrorNumber(errno) }
        if !takesStreams { close(listener.descriptor) }
        var ends: [Int32] = [0, 0]
        guard pipe(&ends) == 0, fcntl(ends[1], F_SETFD, FD_CLOEXEC) == 0 else { throw SystemErrorNumber(errno) }
        let (stopped, seen) = (ends[0], seen)
        stop = ends[1]
        let hasThread = DetachedThread.start {
            var descriptors = [datagrams, stopped, takesStreams ? listener.descriptor : -1].map {
                pollfd(fd: $0, events: Int16(POLLIN), revents: 0)
            }
            var kept: [Int32] = []
            func note(_ message: [UInt8], isStream: Bool) -> Query {
                seen.change { queries in
                    let number = queries.count { $0.isStream == isStream }
                    queries.append(Query(message: message, isStream: isStream, number: number))
                    return queries[queries.count - 1]
                }
            }
            while poll(&descriptors, 3, -1) >= 0, descriptors[1].revents == 0 {
                if descriptors[0].revents != 0 { Self.answerDatagram(datagrams) { script(note($0, isStream: false)) } }
                guard descriptors[2].revents != 0 else { continue }
                let connection = accept(listener.descriptor, nil, nil)
                let isOver = Self.answerStream(connection, pieces) { script(note($0, isStream: true)) }
                if isOver { close(connection) } else { kept.append(connection) }
            }
            for descriptor in kept + [datagrams, stopped] + (takesStreams ? [listener.descriptor] : []) {
                close(descriptor)
            }
        }
        guard hasThread else { throw SystemErrorNumber(EAGAIN) }
    }

    deinit {
        close(stop)
    }

    private static func answerDatagram(_ descriptor: Int32, _ script: ([UInt8]) -> [[UInt8]]) {
        var message = [UInt8](repeating: 0, count: 4096)
        var (peer, size) = (sockaddr_in(), socklen_t(MemoryLayout<sockaddr_in>.size))
        withUnsafeMutablePointer(to: &peer) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { peer in
                let count = recvfrom(descriptor, &message, message.count, 0, peer, &size)
                guard count > 0 else { return }
                for answer in script(Array(message[..<count])) {
                    sendto(descriptor, answer, answer.count, 0, peer, size)
                }
            }
        }
    }

    /// - Returns: Whether the connection is closed.
    private static func answerStream(_ descriptor: Int32, _ pieces: Int, _ script: ([UInt8]) -> [[UInt8]]) -> Bool {
        var one: Int32 = 1
        setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<Int32>.size))
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = recv(descriptor, &bytes, bytes.count, 0)
        guard count > 2 else { return true }
        let answers = script(Array(bytes[2..<count]))
        var rest = answers.flatMap { [UInt8($0.count >> 8), UInt8($0.count & 255)] + $0 }[...]
        while !rest.isEmpty {
            let piece = Array(rest.prefix(pieces))
            send(descriptor, piece, piece.count, Int32(MSG_NOSIGNAL))
            rest = rest.dropFirst(piece.count)
        }
        return !answers.isEmpty
    }
}
