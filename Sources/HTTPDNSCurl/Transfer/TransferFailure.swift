// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Glibc
package import HTTPDNSPrimitives

/// The failure of a transfer. It never contains a pin name or a header's value.
package struct TransferFailure: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Code: Hashable, Sendable {
        /// CR, LF, NUL or another forbidden byte in URL, method or header field.
        case invalidRequest
        /// The trust roots could not be found or read.
        case trustRootsMissing
        /// The TLS library of libcurl may ignore trust settings, see ``TLSBackend``.
        case trustUnsupported
        /// The client's own certificate, its key or the key's password cannot be read, or do not belong together.
        case clientCertificateUnusable
        /// The TLS library does not have the cipher suites or curves of the settings.
        case tlsSettingsRefused
        /// A proxy cannot be connected to, including its TLS, or breaks off the connection.
        case proxyUnreachable
        /// A proxy refuses the requested connection.
        case proxyRefused
        /// A proxy requires a login, or another one.
        case proxyLoginRefused
        /// Connections cannot use the required interface or local address of this machine.
        case localSourceUnusable
        /// TCP failed: refused, unreachable, reset before TLS.
        case connectFailed
        /// The TLS handshake failed for another reason than the certificate.
        case tlsFailed
        /// The server refused the client's certificate, or the lack of one: another try has the same result.
        case clientCertificateRefused
        /// The server's certificate was not valid for the name.
        case certificateRefused
        /// The connection led to another address than the pinned one.
        case wrongPeer
        /// libcurl was about to look up a name itself.
        case lookupDenied
        /// A deadline passed; `phase` has the phase.
        case timedOut
        /// The connection broke after the request was sent.
        case connectionLost
        /// The response is not HTTP, or violates its rules.
        case protocolViolation
        /// The response's content coding is unknown, its bytes do not match it, or it is incomplete.
        case undecodable
        /// The response is longer than ``TransferLimits/maximumResponseBytes``.
        case responseTooLarge
        /// The stream that feeds the request body threw, or ended early or late for its declared length.
        case requestBodyFailed
        /// The body was iterated a second time.
        case bodyConsumedTwice
        /// The connection is established, and no request is sent on it: ``TransferRequest/stopsBeforeSending``.
        case connectOnly
        /// The maximum number of transfers is in progress.
        case limitReached
        /// The transport is shut down.
        case shutDown
        /// libcurl reported an error without a code above.
        case transport
    }

    package enum Phase: String, Hashable, Sendable {
        case queue, connect, tls, send, firstByte, body
        /// The time until the response head, over all transfers of a call.
        case head
        /// The time until the end of the body, over all transfers of a call.
        case total
    }

    /// An error of the caller's stream. Two are equal if their texts are.
    package struct Cause: Hashable, Sendable {
        package let error: any Error
        package var text: String { "\(error)" }

        package init(_ error: any Error) { self.error = error }

        package static func == (one: Cause, other: Cause) -> Bool { one.text == other.text }
        package func hash(into hasher: inout Hasher) { hasher.combine(text) }
    }

    package var code: Code
    package var phase: Phase
    /// The phase of the transfer at the end of the whole time limit; `nil` for other failures.
    package var reached: Phase?
    /// The message in one line, without pin names or secrets.
    package var message: String
    package var endpoint: HTTPDNSEndpoint?
    /// The proxy of the egress path, such as `http://proxy.test:3128`, without its login.
    package var proxy: String?
    /// All failed attempts at endpoints, in the order of their failures, including the one behind this failure.
    package var attempts: [TransferAttempt] = []
    package var requestMayHaveBeenSent = false
    package var elapsed: Duration = .zero
    /// The exceeded bound, for ``Code/timedOut`` and ``Code/responseTooLarge``.
    package var limit: Duration?
    /// The error number of libcurl (`CURLcode`); 0 if libcurl was not involved.
    package var curlCode: Int32 = 0
    /// The error thrown by the stream of the request body.
    package var cause: Cause?
    /// Whether the loop could not open a socket for lack of descriptors or memory, and another loop has a connection.
    package var lacksSocket = false

    package init(code: Code, phase: Phase, message: String) {
        self.code = code
        self.phase = phase
        self.message = message
    }

    package var description: String { message }

    /// - Parameter number: The system's error number.
    package static func noDescriptor(_ number: Int32) -> TransferFailure {
        TransferFailure(
            code: .transport,
            phase: .queue,
            message: "no descriptor for the loop: \(systemErrorText(number)); raise the limit of open files (ulimit -n)"
        )
    }

    /// Whether an error number of socket(2) means that the process has no room for another socket.
    static func isLack(_ number: Int32) -> Bool { [EMFILE, ENFILE, ENOMEM, ENOBUFS].contains(number) }

    /// - Parameter number: The error number of epoll_ctl(2).
    static func notWatched(_ number: Int32) -> TransferFailure {
        TransferFailure(
            code: .transport,
            phase: .queue,
            message:
                "the kernel does not watch the socket: \(systemErrorText(number)); raise fs.epoll.max_user_watches (sysctl)"
        )
    }

    static let bodyConsumedTwice = TransferFailure(
        code: .bodyConsumedTwice,
        phase: .body,
        message: "the body of a response can be read once; keep its bytes if they are needed again"
    )

    package static func tooLong(_ limit: Int) -> TransferFailure {
        TransferFailure(
            code: .responseTooLarge,
            phase: .body,
            message: "the answer is longer than the \(limit) bytes allowed"
        )
    }

    package static let shutDown = TransferFailure(code: .shutDown, phase: .queue, message: "the transport is shut down")

    static func deadlinePassedBeforeStart(_ phase: Phase) -> TransferFailure {
        TransferFailure(
            code: .timedOut,
            phase: phase,
            message: "the deadline had passed before there was anything sent"
        )
    }
}

/// A failed attempt at one endpoint.
package struct TransferAttempt: Hashable, Sendable {
    package var endpoint: HTTPDNSEndpoint
    /// The phase that the attempt reached.
    package var phase: TransferFailure.Phase
    package var code: TransferFailure.Code
    /// The reason of its failure, without pin names or secrets.
    package var message: String
    /// The duration from its own start.
    package var elapsed: Duration

    package init(
        endpoint: HTTPDNSEndpoint,
        phase: TransferFailure.Phase,
        code: TransferFailure.Code,
        message: String,
        elapsed: Duration
    ) {
        self.endpoint = endpoint
        self.phase = phase
        self.code = code
        self.message = message
        self.elapsed = elapsed
    }
}

extension TransferAttempt {
    /// Creates the attempt that ended with a failure; `nil` when no endpoint was tried.
    init?(ending failure: TransferFailure) {
        guard let endpoint = failure.endpoint else { return nil }
        self.init(
            endpoint: endpoint,
            phase: failure.phase,
            code: failure.code,
            message: failure.message,
            elapsed: failure.elapsed
        )
    }
}
