#if LocalProvider
internal import HTTPDNSConfiguration

/// That a query is not answered, and why. Nothing of a secret, a signature or a cipher text is in it.
struct Refusal: Error, Hashable, Sendable {
    /// The errors of Alibaba's table, which say well enough what is wrong in other protocols too.
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
        /// Words of our own, where the vendor's are not known.
        case invalidEncryption = "InvalidEncryption"
        case serverFailure = "SERVFAIL"
        case refused = "REFUSED"

        /// The HTTP status. Those of accounts and signatures are documented for version 1 in part, and UNCONFIRMED for
        /// version 2.
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
    /// Nil for a bare status, as a proxy sends it.
    var code: Code?
    /// What was expected, for the log.
    var advice: String

    init(_ code: Code, _ advice: String) {
        self.code = code
        status = code.status
        self.advice = advice
    }

    /// What the file wants to go wrong.
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

    /// The word for the log.
    var word: String { code?.rawValue ?? "status-\(status)" }
}
#endif
