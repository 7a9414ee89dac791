// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import CHTTPDNSCurl
internal import Glibc
package import HTTPDNSPrimitives

/// Streams of bytes over TLS, and the thread that carries them. The first stream starts it.
///
/// A stream is a connection of libcurl on which nothing is sent by itself (CURLOPT_CONNECT_ONLY): names, certificates and settings
/// of TLS are checked as for every request.
package final class TLSStreams: Sendable {
    package enum Event: Sendable {
        case received([UInt8])
        /// The last event. The peer has closed the stream, or it has failed, or this side has closed it.
        case ended(TransferFailure)
    }

    /// A stream, until its last event.
    package struct Stream: Sendable {
        /// Its number among those of these streams.
        package let number: UInt64
        let endpoint: HTTPDNSEndpoint
        /// Called on the thread: it must be short, and must call no code of users.
        let report: @Sendable (Event) -> Void
    }

    private enum Command: Sendable {
        case open(Stream)
        case send(UInt64, [UInt8])
        case close(UInt64)
    }

    private struct State: @unchecked Sendable {
        /// libcurl's multi handle while the thread runs. curl_multi_wakeup alone is called by other threads, under the lock under which the
        /// thread takes the handle away before it frees it.
        var multi: UnsafeMutableRawPointer?
        var commands: [Command] = []
        var last: UInt64 = 0
        var isShutDown = false
    }

    private let trust: HTTPDNSTrust
    private let name: String?
    private let state = Lock(State())

    /// - Parameter name: The name that certificates must have, which is the server name of TLS; nil means the address.
    package init(_ trust: HTTPDNSTrust, name: String?) { (self.trust, self.name) = (trust, name) }

    /// Opens a stream. What is sent on it waits until it is connected.
    /// - Parameter report: Called on the thread: it must be short, and must call no code of users.
    package func open(
        _ endpoint: HTTPDNSEndpoint,
        report: @escaping @Sendable (Event) -> Void
    ) throws(TransferFailure) -> Stream {
        let (stream, isNew) = try state.withLock { state throws(TransferFailure) -> (Stream, Bool) in
            if state.isShutDown { throw .shutDown }
            state.last += 1
            let stream = Stream(number: state.last, endpoint: endpoint, report: report)
            state.commands.append(.open(stream))
            if let multi = state.multi {
                curl_multi_wakeup(multi)
                return (stream, false)
            }
            guard let multi = curl_multi_init() else {
                throw TransferFailure(code: .transport, phase: .queue, message: "libcurl has no handle left")
            }
            state.multi = multi
            return (stream, true)
        }
        guard isNew else { return stream }
        if DetachedThread.start(named: "httpdns-tls", hasWholeStack: true, { [self] in run() }) { return stream }
        let multi = state.withLock { state in
            defer { (state.multi, state.commands) = (nil, []) }
            return state.multi
        }
        if let multi { curl_multi_cleanup(multi) }
        throw TransferFailure(
            code: .transport,
            phase: .queue,
            message: "the system refused a thread; raise the limit of threads or processes"
        )
    }

    package func send(_ bytes: [UInt8], on stream: Stream) { add(.send(stream.number, bytes)) }

    package func close(_ stream: Stream) { add(.close(stream.number)) }

    private func add(_ command: Command) {
        state.withLock { state in
            guard let multi = state.multi else { return }
            state.commands.append(command)
            curl_multi_wakeup(multi)
        }
    }

    /// Ends all streams and the thread. Idempotent.
    package func shutDown() {
        state.withLock { state in
            state.isShutDown = true
            if let multi = state.multi { curl_multi_wakeup(multi) }
        }
    }

    // MARK: the thread

    private func run() {
        guard let multi = state.withLock({ $0.multi }) else { return }
        var loop = TLSStreamLoop(multi, trust, name: name)
        while true {
            let (commands, isShutDown) = state.withLock { state in
                defer { state.commands = [] }
                return (state.commands, state.isShutDown)
            }
            guard !isShutDown else { break }
            for command in commands {
                switch command {
                case .open(let stream): loop.open(stream)
                case .send(let number, let bytes): loop.send(bytes, on: number)
                case .close(let number): loop.end(number, .shutDown)
                }
            }
            loop.turn()
        }
        let commands = state.withLock { state in
            defer { (state.multi, state.commands) = (nil, []) }
            return state.commands
        }
        loop.endAll(.shutDown)
        for case .open(let stream) in commands { stream.report(.ended(.shutDown)) }
        curl_multi_cleanup(multi)
    }
}
