// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCore
internal import HTTPDNSPrimitives

/// The meanings of a vendor's error codes, with one row for each code that the vendor documents or its clients know.
struct VendorErrorTable: Sendable {
    /// The consequence of an error.
    enum Meaning: Hashable, Sendable {
        /// The account is refused: see ``AccountRefusal``.
        case account
        /// The signature was refused because of its time: the request is repeated once, with the vendor's clock.
        case clock
        /// This address fails: the next one is tried, and this one is quarantined.
        case address
        /// The next address may have an answer; this one is not quarantined.
        case nextAddress
        /// Another address would return the same for this query.
        case question
        /// Too many queries. `Retry-After` is honored.
        case rateLimit
    }

    struct Row: Sendable {
        let meaning: Meaning
        /// The meaning and the advice, in one line.
        let advice: String

        init(_ meaning: Meaning, _ advice: String) {
            self.meaning = meaning
            self.advice = advice
        }
    }

    let rows: [String: Row]
    let words: VendorVocabulary

    /// Returns the refusal in a response.
    /// - Parameter code: The vendor's error code, where the response has one.
    /// - Returns: The refusal; `nil` for status 200 without a code.
    func refusal(code: String?, in reply: UpstreamReply) -> VendorRefusal? {
        if let code, let row = rows[code] {
            return VendorRefusal(meaning: row.meaning, error: error(row, code: code, reply), hasKnownCode: true)
        }
        do throws(HTTPDNSProviderError) {
            try reply.checkStatus(words)
        } catch {
            var error = error
            if code != nil { error.message += " (and an error code that is not known here)" }
            if [400, 401, 403].contains(reply.status) { error.message += "; account, secret or key refused?" }
            return VendorRefusal(meaning: Self.meaning(ofStatus: reply.status), error: error)
        }
        return code.map { _ in
            // The code is not quoted: it may repeat the request, with a signature or a token in it.
            let message = "an error code from \(reply.endpoint) that is not known here"
            return VendorRefusal(
                meaning: .nextAddress,
                error: HTTPDNSProviderError(code: .serverFailure, message: message)
            )
        }
    }

    private func error(_ row: Row, code: String, _ reply: UpstreamReply) -> HTTPDNSProviderError {
        let kind: HTTPDNSProviderError.Code =
            switch row.meaning {
            case .account: .accountRefused
            case .rateLimit: .rateLimited
            case .question, .clock: .refused
            case .address, .nextAddress: reply.status == 200 ? .serverFailure : .httpStatus
            }
        let ending =
            row.meaning == .account
            ? "; it is asked again after 5 minutes, doubled up to an hour, or when its settings or its secret are reloaded"
            : ""
        return HTTPDNSProviderError(
            code: kind,
            message: "\(code) from \(reply.endpoint): \(row.advice)\(ending)",
            retryAfter: reply.retryAfter
        )
    }

    private static func meaning(ofStatus status: Int) -> Meaning {
        switch status {
        case 429: .rateLimit
        case 408, 421, 500..<600: .address
        default: .question
        }
    }
}

/// A vendor's response without an answer, and its consequences.
struct VendorRefusal: Hashable, Sendable {
    var meaning: VendorErrorTable.Meaning
    var error: HTTPDNSProviderError
    /// Whether the vendor returned a code that it documents. A bare status may come from a captive portal on the path.
    var hasKnownCode = false

    /// Whether the vendor refused something other than the account, and therefore accepted the account.
    var provesAccount: Bool {
        switch meaning {
        case .question, .clock: hasKnownCode
        case .rateLimit: true
        case .account, .address, .nextAddress: false
        }
    }
}
