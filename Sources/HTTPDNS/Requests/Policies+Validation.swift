internal import HTTPDNSPrimitives

extension HTTPDNSClient.RedirectPolicy {
    /// - Throws: ``HTTPDNSClientError`` with code `configuration`.
    func validate() throws(HTTPDNSClientError) {
        if isInherited { throw .inheritedInSettings("redirects", instead: "RedirectPolicy() is the default") }
        guard (0...100).contains(limit) else {
            throw .configuration("redirects.limit is \(limit)", hint: "0 to 100; 20 suits nearly everybody")
        }
    }
}

extension HTTPDNSClient.RetryPolicy {
    /// - Throws: ``HTTPDNSClientError`` with code `configuration`.
    func validate() throws(HTTPDNSClientError) {
        if isInherited { throw .inheritedInSettings("retries", instead: ".never is the default") }
        for (name, value, range) in [
            ("limit", limit, 0...100), ("budget.percent", budget.percent, 0...1000),
            ("budget.perSecond", budget.perSecond, 0...100_000),
        ] where !range.contains(value) {
            throw .configuration("retries.\(name) is \(value)", hint: "\(range.lowerBound) to \(range.upperBound)")
        }
        for (name, value) in [
            ("delay", delay), ("maximumDelay", maximumDelay), ("maximumRetryAfter", maximumRetryAfter),
        ]
        where value < .zero {
            throw .configuration("retries.\(name) is \(value.shortText)", hint: "zero is the least")
        }
    }
}
