#if LocalProvider
internal import HTTPDNSConfiguration

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
