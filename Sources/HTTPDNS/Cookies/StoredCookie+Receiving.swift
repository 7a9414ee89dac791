// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives

extension StoredCookie {
    /// Creates a cookie by the storage model of RFC 6265bis section 5.7, as far as no other cookie matters.
    init(
        _ field: SetCookie,
        from url: CookieURL,
        _ suffixes: PublicSuffixes,
        at now: Int64
    ) throws(HTTPDNSClient.CookieJar.Rejection) {
        let domain = try StoredCookie.domain(of: field, from: url, suffixes)
        guard url.isSecure || !field.isSecure else { throw .secureFromClearText }
        guard field.sameSite != .none || field.isSecure else { throw .sameSiteNoneWithoutSecure }
        let path = field.path ?? url.defaultPath
        // The limit of attributes. A path that comes from the URL would have none, and with it the file of the jar.
        guard path.count <= SetCookie.maximumAttribute else { throw .tooLarge }
        key = Key(name: field.name, domain: domain ?? url.host, isHostOnly: domain == nil, path: path)
        value = field.value
        expiry = StoredCookie.expiry(field.expiry, at: now)
        (isSecure, isHTTPOnly, sameSite) = (field.isSecure, field.isHTTPOnly, field.sameSite)
        (creation, lastAccess) = (now, now)
        try checkPrefixes(field)
    }

    /// Returns the domain of the attribute; nil for a host-only cookie.
    private static func domain(
        of field: SetCookie,
        from url: CookieURL,
        _ suffixes: PublicSuffixes
    ) throws(HTTPDNSClient.CookieJar.Rejection) -> String? {
        guard !field.domain.isEmpty else { return nil }
        // A name outside ASCII must be written in A-labels, and the host of a URL always is.
        guard field.domain.allSatisfy({ $0 < 0x80 }) else { throw .domainNotASCII }
        let domain = String(decoding: field.domain, as: UTF8.self)
        // An address has no names below it, so that its cookies are for itself alone.
        if url.isAddress {
            guard domain == url.host else { throw .foreignDomain }
            return nil
        }
        // A public suffix may set cookies for itself. Without the list the same is true of every name.
        guard suffixes.isAvailable else {
            guard domain == url.host else { throw .noPublicSuffixList }
            return nil
        }
        if suffixes.isPublicSuffix(domain) {
            guard domain == url.host else { throw .publicSuffix }
            return nil
        }
        guard CookieMatch.domain(url.host, domain) else { throw .foreignDomain }
        return domain
    }

    /// Returns the time of expiry, at most 400 days from now.
    private static func expiry(_ expiry: SetCookie.Expiry, at now: Int64) -> Int64? {
        let latest = now + CookieStore.maximumLife
        switch expiry {
        case .session: return nil
        case .age(let seconds):
            guard seconds > 0 else { return .min }
            let (milliseconds, overflows) = seconds.multipliedReportingOverflow(by: 1000)
            return overflows ? latest : min(latest, now + min(milliseconds, CookieStore.maximumLife))
        // A date has a year of four digits at most, so that this cannot overflow.
        case .date(let seconds): return min(latest, seconds * 1000)
        }
    }

    /// Refuses a cookie whose name promises more than its attributes have (RFC 6265bis section 4.1.3). The comparison
    /// ignores case, since servers read names in any case.
    private func checkPrefixes(_ field: SetCookie) throws(HTTPDNSClient.CookieJar.Rejection) {
        func starts(_ text: [UInt8], _ prefix: StaticString) -> Bool {
            text.prefix(prefix.utf8CodeUnitCount).map(\.lowercasedASCII)
                .elementsEqual(UnsafeBufferPointer(start: prefix.utf8Start, count: prefix.utf8CodeUnitCount))
        }
        // Sent without a name, such a value would look like a name with the prefix.
        if key.name.isEmpty, starts(value, "__secure-") || starts(value, "__host-") { throw .prefix }
        if starts(key.name, "__secure-"), !isSecure { throw .prefix }
        if starts(key.name, "__host-") {
            guard isSecure, key.isHostOnly, field.path == [UInt8(ascii: "/")] else { throw .prefix }
        }
    }
}
