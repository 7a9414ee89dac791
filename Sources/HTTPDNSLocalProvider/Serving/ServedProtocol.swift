// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if LocalProvider
internal import Foundation
internal import HTTPDNSConfiguration
internal import HTTPDNSPrimitives
internal import HTTPTypes

/// A protocol that is served: a value without state.
protocol ServedProtocol: Sendable {
    /// The name of the protocol in the log.
    var name: String { get }

    /// Checks and answers a query.
    func reply(to request: ServedRequest, _ inquiry: inout ServedQuery) throws(Refusal) -> ServedReply

    /// Returns the protocol's reply to a refused query.
    func reply(to refusal: Refusal, _ inquiry: ServedQuery) -> ServedReply
}

extension ServedProtocol {
    /// Returns a line of text.
    func reply(to refusal: Refusal, _ inquiry: ServedQuery) -> ServedReply {
        ServedReply(status: refusal.status, text: "\(refusal.word): \(refusal.advice)\n")
    }
}

/// A request to a protocol.
struct ServedRequest: Sendable {
    var method: HTTPRequest.Method
    /// The path without the query.
    var path: String
    /// The query without its question mark, as it was sent.
    var query: String
    var headerFields: HTTPFields = [:]
    var body: [UInt8] = []
    /// The source address; nil when it is not known.
    var client: HTTPDNSAddress?
    /// The address and port that received the request.
    var service: HTTPDNSEndpoint

    /// The parts of the path.
    var segments: [Substring] { path.split(separator: "/", omittingEmptySubsequences: true) }
}

/// A reply of a protocol.
struct ServedReply: Sendable {
    var status = 200
    var headerFields: HTTPFields = [:]
    var body: [UInt8] = []

    init(status: Int = 200, contentType: String, body: [UInt8]) {
        self.status = status
        self.body = body
        headerFields[.contentType] = contentType
    }

    /// Creates a reply with a line of text.
    init(status: Int, text: String) {
        self.init(status: status, contentType: "text/plain; charset=utf-8", body: Array(text.utf8))
    }

    /// Creates a reply with a JSON object, its members in the order of their names.
    init(status: Int = 200, contentType: String = "application/json", json value: some Encodable) throws(Refusal) {
        self.init(status: status, contentType: contentType, body: try Self.json(value))
    }

    static func json(_ value: some Encodable) throws(Refusal) -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        do {
            return Array(try encoder.encode(value))
        } catch {
            throw Refusal(.internalError, "the answer cannot be written as JSON")
        }
    }
}

/// The refusal of a query, with its reason. It contains no part of a secret, a signature or a cipher text.
struct Refusal: Error, Hashable, Sendable {
    /// The errors of Alibaba's table, which describe errors of other protocols as well.
    enum Code: String, Hashable, Sendable {
        case missingArgument = "MissingArgument"
        case invalidHost = "InvalidHost"
        case invalidIP = "InvalidIP"
        case invalidQuery = "InvalidQuery"
        case tooManyHosts = "TooManyHosts"
        case sdnsNotSupported = "SdnsNotSupported"
        case invalidAccount = "InvalidAccount"
        case accountNotExists = "AccountNotExists"
        case unsignedInterfaceDisabled = "UnsignedInterfaceDisabled"
        case invalidSignature = "InvalidSignature"
        case signatureExpired = "SignatureExpired"
        case invalidDuration = "InvalidDuration"
        case serviceLevelDeny = "ServiceLevelDeny"
        case methodNotAllowed = "MethodNotAllowed"
        case internalError = "InternalError"
        case notFound = "NotFound"
        /// Codes of this server, where the vendor's are not known.
        case invalidEncryption = "InvalidEncryption"
        case serverFailure = "SERVFAIL"
        case refused = "REFUSED"

        /// The HTTP status. Those for accounts and signatures are documented for version 1 in part, and UNCONFIRMED for version
        /// 2.
        var status: Int {
            switch self {
            case .missingArgument, .invalidHost, .invalidIP, .invalidQuery, .tooManyHosts, .sdnsNotSupported,
                .invalidEncryption:
                400
            case .invalidAccount, .accountNotExists, .unsignedInterfaceDisabled, .invalidSignature, .signatureExpired,
                .invalidDuration, .serviceLevelDeny, .refused:
                403
            case .notFound: 404
            case .methodNotAllowed: 405
            case .internalError, .serverFailure: 500
            }
        }
    }

    var status: Int
    /// The code; nil for a bare status, as a proxy sends it.
    var code: Code?
    /// The expected form, for the log.
    var advice: String

    init(_ code: Code, _ advice: String) {
        self.code = code
        status = code.status
        self.advice = advice
    }

    /// Creates the refusal that the file injects.
    init(_ failure: ServeSettings.Failure) {
        advice = "as the file says"
        switch failure {
        case .status(let status):
            self.status = status
            code = nil
        case .code(let word):
            code = Code(rawValue: word)
            status = code?.status ?? 500
        }
    }

    /// The identifier in the log.
    var word: String { code?.rawValue ?? "status-\(status)" }
}
#endif
