// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import CHTTPDNSCurl
internal import Glibc
internal import HTTPDNSPrimitives

/// The open streams of ``TLSStreams``, on its thread alone.
struct TLSStreamLoop {
    private struct Connection {
        let stream: TLSStreams.Stream
        let curl: UnsafeMutableRawPointer
        let error: UnsafeMutablePointer<CChar>
        let list: UnsafeMutablePointer<curl_slist>?
        /// It has the authorities' bytes, which libcurl does not copy.
        let material: TrustMaterial
        /// -1 before it is connected.
        var socket: Int32 = -1
        var unsent: ArraySlice<UInt8> = []
    }

    /// The longest wait for TCP and TLS; the deadlines of those who wait are usually sooner.
    private static let connectMilliseconds = 10_000
    private static let pieceBytes = 16 * 1024

    private let multi: UnsafeMutableRawPointer
    private let trust: HTTPDNSTrust
    private let name: String?
    private var connections: [UInt64: Connection] = [:]

    init(_ multi: UnsafeMutableRawPointer, _ trust: HTTPDNSTrust, name: String?) {
        (self.multi, self.trust, self.name) = (multi, trust, name)
    }

    /// Begins to connect.
    mutating func open(_ stream: TLSStreams.Stream) {
        do throws(TransferFailure) {
            // Each connection has the files of its time.
            let material = try TrustMaterial(trust)
            guard let curl = curl_easy_init() else {
                throw TransferFailure(code: .transport, phase: .queue, message: "libcurl has no handle left")
            }
            let error = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))
            error.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
            // Whatever the URL names, this address is dialed; nothing is looked up.
            let list = curl_slist_append(nil, "::\(stream.endpoint)")
            connections[stream.number] = Connection(
                stream: stream,
                curl: curl,
                error: error,
                list: list,
                material: material
            )
            let address = stream.endpoint.address
            let host = name ?? (address.family == .v4 ? "\(address)" : "[\(address)]")
            var options = EasyOptions(curl)
            options.set(CURLOPT_URL, "https://\(host):\(stream.endpoint.port)/")
            options.set(CURLOPT_CONNECT_TO, list: list)
            options.set(CURLOPT_CONNECT_ONLY, 1)
            options.set(CURLOPT_PROXY, "")
            options.set(CURLOPT_NOSIGNAL, 1)
            options.set(CURLOPT_FRESH_CONNECT, 1)
            options.set(CURLOPT_SSL_ENABLE_ALPN, 0)
            options.set(CURLOPT_CONNECTTIMEOUT_MS, Self.connectMilliseconds)
            options.set(CURLOPT_ERRORBUFFER, pointer: error)
            material.apply(&options)
            if !trust.writesKeyLog {
                _ = ccurl_set_tls_context_function(curl) { _, context, _ in
                    KeyLog.prevent(on: context)
                    return CURLE_OK
                }
            }
            try options.check()
            guard curl_multi_add_handle(multi, curl) == CURLM_OK else {
                throw TransferFailure(code: .transport, phase: .queue, message: "libcurl refused a connection")
            }
        } catch {
            if connections[stream.number] == nil { return stream.report(.ended(error)) }
            end(stream.number, error)
        }
    }

    mutating func send(_ bytes: [UInt8], on number: UInt64) {
        connections[number]?.unsent += bytes
        write(number)
    }

    /// Ends a stream with its last event.
    mutating func end(_ number: UInt64, _ failure: TransferFailure) {
        guard let connection = connections.removeValue(forKey: number) else { return }
        curl_multi_remove_handle(multi, connection.curl)
        curl_easy_cleanup(connection.curl)
        curl_slist_free_all(connection.list)
        connection.error.deallocate()
        connection.stream.report(.ended(failure))
    }

    mutating func endAll(_ failure: TransferFailure) {
        for number in Array(connections.keys) { end(number, failure) }
    }

    /// Waits for an event of any stream, or for a command, and handles it.
    mutating func turn() {
        let numbers = connections.filter { $0.value.socket >= 0 }.map(\.key)
        var waits = numbers.map { number in
            let events = CURL_WAIT_POLLIN | (connections[number]?.unsent.isEmpty == false ? CURL_WAIT_POLLOUT : 0)
            return curl_waitfd(fd: connections[number]?.socket ?? -1, events: Int16(events), revents: 0)
        }
        // libcurl itself ends the wait for the timers of connections in progress.
        _ = curl_multi_poll(multi, &waits, UInt32(waits.count), 60_000, nil)
        var running: Int32 = 0
        curl_multi_perform(multi, &running)
        var code = CURLE_OK
        while let curl = ccurl_next_finished(multi, &code) {
            guard let number = connections.first(where: { $0.value.curl == curl })?.key else { continue }
            connected(number, code)
        }
        for (number, wait) in zip(numbers, waits) where wait.revents != 0 {
            write(number)
            read(number)
        }
    }

    private mutating func connected(_ number: UInt64, _ code: CURLcode) {
        guard let connection = connections[number] else { return }
        var socket: curl_socket_t = -1
        guard code == CURLE_OK, ccurl_get_socket(connection.curl, CURLINFO_ACTIVESOCKET, &socket) == CURLE_OK else {
            return end(number, failure(code, connection))
        }
        connections[number]?.socket = socket
        write(number)
        read(number)
    }

    private mutating func write(_ number: UInt64) {
        while let connection = connections[number], connection.socket >= 0, !connection.unsent.isEmpty {
            var count = 0
            let code = connection.unsent.withUnsafeBytes {
                curl_easy_send(connection.curl, $0.baseAddress, $0.count, &count)
            }
            if code == CURLE_AGAIN { return }
            guard code == CURLE_OK else { return end(number, Self.lost) }
            connections[number]?.unsent.removeFirst(count)
        }
    }

    private mutating func read(_ number: UInt64) {
        while let connection = connections[number], connection.socket >= 0 {
            var count = 0
            var code = CURLE_OK
            let bytes = [UInt8](unsafeUninitializedCapacity: Self.pieceBytes) { buffer, filled in
                code = curl_easy_recv(connection.curl, buffer.baseAddress, buffer.count, &count)
                filled = code == CURLE_OK ? count : 0
            }
            if code == CURLE_AGAIN { return }
            guard code == CURLE_OK, count > 0 else { return end(number, Self.lost) }
            connection.stream.report(.received(bytes))
        }
    }

    private static let lost = TransferFailure(
        code: .connectionLost,
        phase: .firstByte,
        message: "it closed the connection"
    )

    private func failure(_ code: CURLcode, _ connection: Connection) -> TransferFailure {
        let text = String(cString: connection.error)
        let said = text.isEmpty ? String(cString: curl_easy_strerror(code)) : text
        switch code {
        case CURLE_COULDNT_CONNECT:
            var number = 0
            _ = ccurl_get_long(connection.curl, CURLINFO_OS_ERRNO, &number)
            let reason = number == 0 ? "connection failed" : systemErrorText(Int32(number))
            return TransferFailure(code: .connectFailed, phase: .connect, message: reason)
        case CURLE_OPERATION_TIMEDOUT:
            return TransferFailure(code: .timedOut, phase: .connect, message: "it takes no connection over TLS")
        case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_INVALIDCERTSTATUS, CURLE_SSL_ISSUER_ERROR:
            let expected = name ?? "\(connection.stream.endpoint.address)"
            return TransferFailure(
                code: .certificateRefused,
                phase: .tls,
                message: "its certificate is not valid for \(expected): \(said)"
            )
        case CURLE_SSL_CACERT_BADFILE:
            return connection.material.authorityFailure
        case CURLE_SSL_CIPHER: return .tlsSettingsRefused(curlText: said)
        default: return TransferFailure(code: .tlsFailed, phase: .tls, message: said)
        }
    }
}
