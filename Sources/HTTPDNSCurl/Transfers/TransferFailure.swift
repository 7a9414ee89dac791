package import HTTPDNSPrimitives

/// Why a transfer did not end well. It never carries a pin name or a header's value.
package struct TransferFailure: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Code: Hashable, Sendable {
        /// CR, LF, NUL or another forbidden byte in URL, method or header field.
        case invalidRequest
        /// The TLS roots could not be found or read.
        case trustRootsMissing
        /// The client's own certificate, its key or the key's password cannot be read, or do not belong together.
        case clientCertificateUnusable
        /// A proxy cannot be connected to, TLS with it included, or breaks off.
        case proxyUnreachable
        /// A proxy does not make the connection that it was asked for.
        case proxyRefused
        /// A proxy wants a login, or another one.
        case proxyLoginRefused
        /// Connections cannot begin at the interface or address of this machine that they should begin at.
        case localSourceUnusable
        /// TCP failed: refused, unreachable, reset before TLS.
        case connectFailed
        /// The TLS handshake failed for another reason than the certificate.
        case tlsFailed
        /// The server's certificate did not prove the name.
        case certificateRefused
        /// The connection led to another address than the pinned one.
        case wrongPeer
        /// A look-up was about to happen inside libcurl.
        case lookupDenied
        /// One of the deadlines passed; `phase` says which.
        case timedOut
        /// The connection broke after the request was sent.
        case connectionLost
        /// The answer is not HTTP, or breaks its rules.
        case protocolViolation
        /// The answer's content coding is unknown, or its bytes are not what it says.
        case undecodable
        /// The answer is longer than ``TransferLimits/maximumResponseBytes``.
        case responseTooLarge
        /// The stream that feeds the request body threw, or ended early or late for its declared length.
        case requestBodyFailed
        /// The body was iterated a second time.
        case bodyConsumedTwice
        /// The connection stands, and the request was not to be sent: ``TransferRequest/stopsBeforeSending``.
        case heldBack
        /// There are as many transfers already as there may be.
        case limitReached
        /// The transport is shut down.
        case shutDown
        /// libcurl reported something that has no name above.
        case transport
    }

    package enum Phase: String, Hashable, Sendable {
        case queue, connect, tls, send, firstByte, body
        /// Until the response head, of all transfers of a call.
        case head
        /// Until the end of the body, of all transfers of a call.
        case total
    }

    /// An error of the caller's. Two are the same that read the same.
    package struct Cause: Hashable, Sendable {
        package let error: any Error
        package var text: String { "\(error)" }

        package init(_ error: any Error) { self.error = error }

        package static func == (one: Cause, other: Cause) -> Bool { one.text == other.text }
        package func hash(into hasher: inout Hasher) { hasher.combine(text) }
    }

    package var code: Code
    package var phase: Phase
    /// Where the transfer stood when the time of the whole was over; nil for other failures.
    package var reached: Phase?
    /// One line for people, without pin names or secrets.
    package var message: String
    package var endpoint: HTTPDNSEndpoint?
    /// The proxy on the way, such as `http://proxy.test:3128`, without its login.
    package var proxy: String?
    /// All endpoints that were tried and failed, in the order in which they did; the one behind this failure is among them.
    package var attempts: [TransferAttempt] = []
    package var requestMayHaveBeenSent = false
    package var elapsed: Duration = .zero
    /// The bound that was passed, for ``Code/timedOut`` and ``Code/responseTooLarge``.
    package var limit: Duration?
    /// libcurl's own number (`CURLcode`), 0 when libcurl was not asked.
    package var curlCode: Int32 = 0
    /// What the stream of the request body threw.
    package var cause: Cause?

    package init(code: Code, phase: Phase, message: String) {
        self.code = code
        self.phase = phase
        self.message = message
    }

    package var description: String { message }

    /// - Parameter number: The system's error number.
    static func noDescriptor(_ number: Int32) -> TransferFailure {
        TransferFailure(
            code: .transport,
            phase: .queue,
            message: "no descriptor for the loop: \(systemErrorText(number)); raise the limit of open files (ulimit -n)"
        )
    }

    /// - Parameter number: The error number of epoll_ctl(2).
    static func notWatched(_ number: Int32) -> TransferFailure {
        TransferFailure(
            code: .transport,
            phase: .queue,
            message:
                "the kernel does not watch the socket: \(systemErrorText(number)); raise fs.epoll.max_user_watches (sysctl)"
        )
    }

    static let shutDown = TransferFailure(code: .shutDown, phase: .queue, message: "the transport is shut down")

    static func deadlinePassedInQueue(_ phase: Phase) -> TransferFailure {
        TransferFailure(
            code: .timedOut,
            phase: phase,
            message: "the deadline had passed before there was anything sent"
        )
    }
}
