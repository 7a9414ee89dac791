public import HTTPDNSCore
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
            name != .referer && HTTPDNSClient.RedirectPolicy().isListedSecret(name)
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
