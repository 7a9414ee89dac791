// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

public import HTTPDNSCore
internal import HTTPDNSCurl
public import HTTPDNSPrimitives
public import HTTPTypes

extension HTTPDNSClient.Configuration {
    /// The header fields that a client adds to each hop of its requests, unless the request has a field of the same
    /// name.
    ///
    /// They are not part of the request. A redirect or a retry starts without them and gets those of its own host. No
    /// field is sent twice, and no field of one host is sent to another.
    public struct DefaultHeaders: Hashable, Sendable {
        /// The header fields of one host, or of the hosts below a suffix.
        public struct HostHeaders: Hashable, Sendable {
            /// The fields for these hosts. They replace fields of the same name in
            /// ``HTTPDNSClient/Configuration/DefaultHeaders/fields``.
            public var fields: HTTPFields
            /// The names in ``HTTPDNSClient/Configuration/DefaultHeaders/fields`` that are not sent to these hosts.
            public var without: Set<HTTPField.Name>

            /// Creates the fields of a host.
            public init(_ fields: HTTPFields = [:], without: Set<HTTPField.Name> = []) {
                self.fields = fields
                self.without = without
            }
        }

        /// The fields for every host. Secret fields (`Authorization`, `Cookie`, those of
        /// ``HTTPDNSClient/RedirectPolicy``) are for the origins of requests: a redirect to another origin does not get
        /// them.
        public var fields: HTTPFields
        /// The fields by host: the exact name wins, then the longest suffix. `*` matches no host here.
        public var byHost: [HTTPDNSRoute.Pattern: HostHeaders]

        /// Creates fields for every host.
        public init(_ fields: HTTPFields = [:], byHost: [HTTPDNSRoute.Pattern: HostHeaders] = [:]) {
            self.fields = fields
            self.byHost = byHost
        }

        var isEmpty: Bool { fields.isEmpty && byHost.isEmpty }

        /// Returns the reason why a field of this name cannot be added to requests, with a hint; nil when it can be
        /// added.
        package static func fault(in name: HTTPField.Name) -> (message: String, hint: String?)? {
            do throws(HTTPDNSClientError) {
                try RequestCheck.check([name: ""])
                return nil
            } catch {
                return (error.message, error.hint)
            }
        }

        /// Whether fields of this name hold secrets, as far as the name shows.
        package static func isSecret(_ name: HTTPField.Name) -> Bool {
            name != .referer && HTTPDNSClient.RedirectPolicy.isKnownSecret(name)
        }

        /// - Throws: ``HTTPDNSClientError`` with code `configuration`.
        func validate() throws(HTTPDNSClientError) {
            guard byHost[.any] == nil else {
                throw .configuration(
                    "headers.byHost has fields for \"*\"",
                    hint: "what holds for all hosts belongs to headers.fields; write names and suffixes here"
                )
            }
            for fields in [fields] + byHost.values.map(\.fields) {
                do throws(HTTPDNSClientError) {
                    try RequestCheck.check(fields)
                } catch {
                    throw .configuration("headers: \(error.message)", hint: error.hint)
                }
            }
        }
    }
}

/// ``HTTPDNSClient/Configuration/DefaultHeaders``, indexed for the lookup of each hop.
struct HostHeaderRules: Hashable, Sendable {
    private let fields: HTTPFields
    private let byHost: HostTable<HTTPDNSClient.Configuration.DefaultHeaders.HostHeaders>

    /// - Returns: nil when there is nothing to add.
    init?(_ headers: HTTPDNSClient.Configuration.DefaultHeaders) {
        guard !headers.isEmpty else { return nil }
        fields = headers.fields
        byHost = HostTable(headers.byHost)
    }

    /// Returns the fields for a host.
    /// - Parameter isLeftOut: Whether a field for every host must not be sent to this one.
    func fields(for host: ParsedURL.Host, leavingOut isLeftOut: (HTTPField) -> Bool) -> HTTPFields {
        let own = byHost[host]
        var given = HTTPFields()
        for field in fields where !isLeftOut(field) {
            if let own, own.without.contains(field.name) || own.fields.contains(field.name) { continue }
            given.append(field)
        }
        if let own { given.append(contentsOf: own.fields) }
        return given
    }
}

/// The header fields that a client adds to each hop: those of its settings, and those that a closure computes.
///
/// This step is before the network interceptors, so that they see the fields that are sent.
struct ClientFields {
    let rules: HostHeaderRules?
    let compute: (@Sendable (HTTPDNSClient.Request) async throws -> HTTPFields)?

    /// Returns the fields that a request lacks.
    /// - Throws: ``HTTPDNSClientError``, with `invalidRequest` for computed fields that only the client may set, and
    ///   `interceptorFailed` for an error of the closure that computes them; `CancellationError`.
    func fields(
        for request: HTTPDNSClient.Request,
        _ context: HTTPDNSClient.InterceptionContext
    ) async throws -> HTTPFields {
        // The rewriter refuses an unreadable URL, with its own message.
        guard let url = try? HTTPDNSRewriter.Canonicalizer.canonicalize(request.url) else { return [:] }
        let policy = context.options(of: request).shared.redirects
        let isForeign = context.constraints.isForeign
        var given = rules?.fields(for: url.parsed.host) { isForeign && policy.withholds($0) } ?? [:]
        if let compute {
            var computed = try await computed(compute, for: request)
            // The closure cannot know that a redirect has led to this host.
            if isForeign { computed.removeAll(where: policy.withholds) }
            given.removeAll { computed.contains($0.name) }
            given.append(contentsOf: computed)
        }
        let (own, unwanted) = (request.headerFields, request.options.withoutHeaders)
        // The URL's credential is the request's own, and takes precedence over this field.
        let hasCredential = url.parsed.credential != nil
        given.removeAll { field in
            own.contains(field.name) || unwanted.contains(field.name) || hasCredential && field.name == .authorization
        }
        return given
    }

    private func computed(
        _ compute: @Sendable (HTTPDNSClient.Request) async throws -> HTTPFields,
        for request: HTTPDNSClient.Request
    ) async throws -> HTTPFields {
        let fields: HTTPFields
        do {
            fields = try await compute(request)
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            throw error as? HTTPDNSClientError ?? HTTPDNSClientError(interceptorError: error)
        }
        try RequestCheck.check(fields)
        return fields
    }
}

extension HTTPDNSClient.Configuration.DefaultHeaders: HTTPDNSRedacted {
    /// The names of the header fields.
    public var description: String {
        ([fields.namesText] + byHost.map { "\($0.key): \($0.value)" }.sorted()).joined(separator: "; ")
    }
}

extension HTTPDNSClient.Configuration.DefaultHeaders.HostHeaders: HTTPDNSRedacted {
    /// The names of the header fields.
    public var description: String {
        fields.namesText + without.map { ", without \($0.rawName)" }.sorted().joined()
    }
}

/// Values by host: the exact name wins, then the longest suffix.
struct HostTable<Value: Sendable>: Sendable {
    private var exact: [String: Value] = [:]
    private var suffixes: [Substring: Value] = [:]

    init() {}

    init(_ values: [HTTPDNSRoute.Pattern: Value]) {
        for (pattern, value) in values { self[pattern] = value }
    }

    subscript(pattern: HTTPDNSRoute.Pattern) -> Value? {
        get {
            switch pattern {
            case .exact(let name): exact[name.description]
            case .suffix(let name): suffixes[name.description[...]]
            case .any: nil
            }
        }
        set {
            switch pattern {
            case .exact(let name): exact[name.description] = newValue
            case .suffix(let name): suffixes[name.description[...]] = newValue
            // It matches no host: callers store the value for all hosts separately.
            case .any: break
            }
        }
    }

    /// Returns the value for a host; addresses have none.
    subscript(host: ParsedURL.Host) -> Value? {
        guard !(exact.isEmpty && suffixes.isEmpty), case .name(let name) = host else { return nil }
        if let own = exact[name] { return own }
        guard !suffixes.isEmpty else { return nil }
        var rest = name[...]
        while let dot = rest.firstIndex(of: ".") {
            rest = rest[rest.index(after: dot)...]
            if let own = suffixes[rest] { return own }
        }
        return nil
    }
}

extension HostTable: Equatable where Value: Equatable {}
extension HostTable: Hashable where Value: Hashable {}
