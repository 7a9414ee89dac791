// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCore
internal import HTTPDNSPrimitives

// The bodies of responses.
extension HTTPDNSClientError {
    /// Returns an error about the body of a response.
    /// - Parameters:
    ///   - hop: The hop of the response; nil for one that was made in this process.
    ///   - subject: The words before the server, and `predicate` those behind it.
    static func body(
        _ code: Code,
        on hop: HopRecord?,
        of subject: String = "the body of the response",
        _ predicate: String,
        hint: String,
        underlying: (any Error)? = nil
    ) -> HTTPDNSClientError {
        HTTPDNSClientError(
            code: code,
            phase: .body,
            message: "\(subject)\(hop.map { " from \($0.origin)" } ?? "") \(predicate)",
            host: hop?.host,
            hint: hint,
            mayHaveBeenSent: hop != nil,
            underlying: underlying
        )
    }

    static func bodyConsumedTwice(on hop: HopRecord?) -> HTTPDNSClientError {
        body(.bodyConsumedTwice, on: hop, "was read before", hint: readOnceHint)
    }

    static func bodyTooLong(limit: HTTPDNSByteCount, on hop: HopRecord?) -> HTTPDNSClientError {
        var error = body(
            .responseTooLarge,
            on: hop,
            "is longer than \(limit)",
            hint: "give a higher limit, or read the body chunk by chunk"
        )
        if let hop { error.elapsed = hop.time.elapsed }
        return error
    }

    /// Returns the error for a download whose response is no success.
    static func unexpectedStatus(_ response: HTTPDNSClient.Response) -> HTTPDNSClientError {
        let exchange = response.exchanges.last
        let host = exchange?.request.content.url.host.description
        var origin = host ?? "the server"
        if let exchange {
            if let proxy = exchange.proxy {
                origin += " through the proxy \(proxy)"
            } else if !exchange.request.isUnresolved {
                origin += " at \(exchange.remote)"
            }
        }
        return HTTPDNSClientError(
            code: .unexpectedStatus,
            phase: .firstByte,
            message: "the answer of \(origin) to a download was \(response.status.code), and nothing was saved",
            host: host,
            hint: "execute(_:) gives every answer, and its body's save(to:) saves it",
            mayHaveBeenSent: true
        )
    }

    /// Returns the error for a body that cannot be saved.
    static func unwritable(_ fault: FileFault, _ phase: Phase) -> HTTPDNSClientError {
        HTTPDNSClientError(
            code: .fileFailed,
            phase: phase,
            message: "the body cannot be saved: \(fault)",
            hint: "the file's folder must be there, with room, and this process must be allowed to write it",
            mayHaveBeenSent: phase == .body,
            underlying: fault
        )
    }

    /// Returns the error for a file that was not opened, written or finished before the call's deadline.
    /// - Parameter time: The times of the call.
    static func unwritten(_ path: String, _ phase: Phase, _ time: CallTime?) -> HTTPDNSClientError {
        let fault = FileFault(path, "\(SharedReadError.overdue)")
        var error = callOverdue(
            phase,
            "the body was not saved before the call's deadline: \(fault)",
            hint: "check the disk, or give the call more time (timeouts.total)",
            limit: phase == .request ? time?.firstLimit : time?.limit,
            mayHaveBeenSent: phase == .body
        )
        error.elapsed = time?.elapsed ?? .zero
        error.underlying = fault
        return error
    }
}

// The bodies of requests.
extension HTTPDNSClientError {
    /// Returns the error for a request body that cannot be sent.
    static func requestBody(_ message: String, hint: String, underlying: (any Error)? = nil) -> HTTPDNSClientError {
        HTTPDNSClientError(
            code: .requestBodyFailed,
            phase: .request,
            message: message,
            hint: hint,
            mayHaveBeenSent: false,
            underlying: underlying
        )
    }

    static var bodySentTwice: HTTPDNSClientError {
        requestBody(
            "the request's body is a stream that was read before, and it can be sent once",
            hint: "give the body as bytes where a request may be sent again, or check isReplayable first"
        )
    }

    /// Returns the error for a file of a request body that cannot be read.
    static func unreadable(_ fault: FileFault) -> HTTPDNSClientError {
        requestBody(
            "the file of the request's body cannot be read: \(fault)",
            hint:
                "a body's file is a regular file that knows its length and may be read; for others use Request.Body.stream",
            underlying: fault
        )
    }

    /// Returns the error for a deadline that passed before the request body was ready to be sent.
    /// - Parameter work: The work in progress, such as "the request's body was compressed".
    static func bodyOverdue(while work: String) -> HTTPDNSClientError {
        callOverdue(
            .request,
            "the call's deadline passed while \(work)",
            hint: "timeouts.total bounds it, for one call or for all"
        )
    }

    /// Returns the error with the facts of the hop that the body was for.
    func ofBody(for hop: HopRecord) -> HTTPDNSClientError {
        guard isCallDeadline, phase == .request, host == nil else { return self }
        var error = self
        error.message = "the request to \(hop.origin) was not sent: \(message)"
        (error.host, error.elapsed, error.limit) = (hop.host, hop.time.elapsed, hop.time.limit)
        return error
    }
}
