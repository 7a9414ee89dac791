public import HTTPDNSCore
public import HTTPTypes

extension HTTPDNSClient.Configuration {
    /// Header fields that a client adds to each hop of its requests, where the request has none of the same name.
    ///
    /// They are no part of the request: a redirect or a retry starts without them and is given those of its own host, so none
    /// is sent twice, and none that belongs to one host follows to another.
    public struct DefaultHeaders: Hashable, Sendable {
        /// What one host is given, or those below a suffix.
        public struct HostHeaders: Hashable, Sendable {
            /// Fields for these hosts, instead of those of the same name in
            /// ``HTTPDNSClient/Configuration/DefaultHeaders/fields``.
            public var fields: HTTPFields
            /// Names in ``HTTPDNSClient/Configuration/DefaultHeaders/fields`` that these hosts are not sent.
            public var without: Set<HTTPField.Name>

            /// Creates a host's own fields.
            public init(_ fields: HTTPFields = [:], without: Set<HTTPField.Name> = []) {
                self.fields = fields
                self.without = without
            }
        }

        /// Fields for every host. Those with a secret (`Authorization`, `Cookie`, what ``HTTPDNSClient/RedirectPolicy``
        /// names) are for the origins that requests name: a redirect to another origin does not get them.
        public var fields: HTTPFields
        /// Fields by host: the exact name wins, then the longest suffix. `*` stands for no host here.
        public var byHost: [HTTPDNSRoute.Pattern: HostHeaders]

        /// Creates fields for every host.
        public init(_ fields: HTTPFields = [:], byHost: [HTTPDNSRoute.Pattern: HostHeaders] = [:]) {
            self.fields = fields
            self.byHost = byHost
        }

        var isEmpty: Bool { fields.isEmpty && byHost.isEmpty }

        /// Why a field of this name cannot be added to requests, and what to do; nil when it can.
        package static func fault(in name: HTTPField.Name) -> (message: String, hint: String?)? {
            do throws(HTTPDNSClientError) {
                try RequestCheck.check([name: ""])
                return nil
            } catch {
                return (error.message, error.hint)
            }
        }

        /// Whether fields of this name hold secrets, as far as their names say so.
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
