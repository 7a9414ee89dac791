extension HTTPDNSTrust {
    /// What a client proves its own identity with (mutual TLS): PEM files, which are read again when they change.
    ///
    /// Contents of the files stand in no description, log or error: only their paths do.
    public struct ClientCertificate: Hashable, Sendable, CustomStringConvertible {
        /// The PEM file of the certificate, followed by those between it and its authority (CURLOPT_SSLCERT_BLOB).
        public var certificateFile: String
        /// The PEM file of the private key (CURLOPT_SSLKEY_BLOB); nil when it stands in ``certificateFile``.
        public var keyFile: String?
        /// Where the password of an encrypted key is (CURLOPT_KEYPASSWD); nil for a key in clear.
        public var keyPassword: HTTPDNSTrust.KeyPassword?

        /// A certificate and its key.
        public init(certificateFile: String, keyFile: String? = nil, keyPassword: HTTPDNSTrust.KeyPassword? = nil) {
            self.certificateFile = certificateFile
            self.keyFile = keyFile
            self.keyPassword = keyPassword
        }

        /// The paths, never what stands there.
        public var description: String {
            "certificate \(certificateFile), key \(keyFile ?? "in the same file")\(keyPassword.map { ", \($0)" } ?? "")"
        }
    }
}

extension HTTPDNSTrust {
    /// Where a private key's password is: never the password itself. It is read when the key is.
    public struct KeyPassword: Hashable, Sendable, CustomStringConvertible {
        package enum Place: Hashable, Sendable {
            case file(String)
            case environment(String)
        }

        package let place: Place

        /// The content of a file, without line ends at its end, at most 4096 octets.
        public static func file(_ path: String) -> HTTPDNSTrust.KeyPassword {
            HTTPDNSTrust.KeyPassword(place: .file(path))
        }

        /// The value of an environment variable.
        public static func environment(_ name: String) -> HTTPDNSTrust.KeyPassword {
            HTTPDNSTrust.KeyPassword(place: .environment(name))
        }

        /// Where it is, never what it is.
        public var description: String {
            switch place {
            case .file(let path): "password in the file \(path)"
            case .environment(let name): "password in the environment variable \(name)"
            }
        }
    }
}
