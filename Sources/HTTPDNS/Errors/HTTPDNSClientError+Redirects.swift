internal import HTTPDNSCurl
internal import HTTPDNSPrimitives

extension HTTPDNSClientError {
    static func redirectRefused(
        _ base: ParsedURL,
        _ status: RedirectStatus,
        _ reason: String,
        hint: String? = nil
    ) -> HTTPDNSClientError {
        var error = HTTPDNSClientError(
            code: .redirectRefused,
            stage: .redirect,
            message: "the redirect (\(status.rawValue)) of \(base.authority) was not followed: \(reason)",
            host: base.hostText,
            hint: hint ?? "with options.redirects = .never the \(status.rawValue) is the response"
        )
        error.requestMayHaveBeenSent = true
        return error
    }

    /// `Location` is not a list (RFC 9110 section 10.2.2): none of several values is the right one.
    static func differingLocations(_ base: ParsedURL, _ status: RedirectStatus) -> HTTPDNSClientError {
        var error = HTTPDNSClientError(
            code: .protocolViolation,
            stage: .redirect,
            message: "the redirect (\(status.rawValue)) of \(base.authority) has Location fields that differ",
            host: base.hostText,
            hint: "with options.redirects = .never the \(status.rawValue) is the response"
        )
        error.requestMayHaveBeenSent = true
        return error
    }

    static func tooManyRedirects(_ limit: Int, at base: ParsedURL) -> HTTPDNSClientError {
        var error = HTTPDNSClientError(
            code: .tooManyRedirects,
            stage: .redirect,
            message: "\(base.authority) redirects once more, after the \(limit) redirects that a call follows",
            host: base.hostText,
            hint:
                "options.redirects = .never shows where each leads; options.redirects and client.redirects.limit set the number"
        )
        error.requestMayHaveBeenSent = true
        return error
    }

    static func redirectLoop(at base: ParsedURL, to target: ParsedURL) -> HTTPDNSClientError {
        var error = HTTPDNSClientError(
            code: .redirectLoop,
            stage: .redirect,
            message: "\(base.authority) redirects to a request that this call has sent before, to \(target.authority)",
            host: base.hostText,
            hint: "the server may expect a cookie; a redirectHook can add it"
        )
        error.requestMayHaveBeenSent = true
        return error
    }

    /// Returns the error for a redirect to an internal address, by a name or address that only the server vouches for.
    static func redirectInside(_ address: HTTPDNSAddress, _ what: String, from scope: String, host: String)
        -> HTTPDNSClientError
    {
        HTTPDNSClientError(
            code: .policyRefused,
            stage: .policy,
            message:
                "a redirect to \(host) leads to \(address), which is \(what), and the server that redirects there is \(scope)",
            host: host,
            hint: "allow it with \(address) in policy.allow, or map the name"
        )
    }

    /// Creates the error for an error that the redirect hook threw.
    init(hookError error: any Error) {
        self.init(
            code: .interceptorFailed,
            stage: .redirect,
            message: "the redirect hook threw \(type(of: error))",
            hint: "the error itself is in underlying"
        )
        requestMayHaveBeenSent = true
        underlying = error
    }
}
