extension HTTPDNSTrust {
    /// A client's certificate and key (mutual TLS): PEM files, which are read again when they change.
    ///
    /// Descriptions, logs and errors contain the paths of the files, never their contents.
    public struct ClientCertificate: Hashable, Sendable, CustomStringConvertible {
        /// The PEM file of the certificate, followed by the intermediate certificates (CURLOPT_SSLCERT_BLOB).
        public var certificateFile: String
        /// The PEM file of the private key (CURLOPT_SSLKEY_BLOB); nil when ``certificateFile`` contains it.
        public var keyFile: String?
        /// The source of the password of an encrypted key (CURLOPT_KEYPASSWD); nil for an unencrypted key.
        public var keyPassword: HTTPDNSTrust.KeyPassword?

        /// Creates a value from a certificate and its key.
        public init(certificateFile: String, keyFile: String? = nil, keyPassword: HTTPDNSTrust.KeyPassword? = nil) {
            self.certificateFile = certificateFile
            self.keyFile = keyFile
            self.keyPassword = keyPassword
        }

        /// The paths, never the contents.
        public var description: String {
            "certificate \(certificateFile), key \(keyFile ?? "in the same file")\(keyPassword.map { ", \($0)" } ?? "")"
        }
    }
}

extension HTTPDNSTrust {
    /// The source of a private key's password, never the password itself. It is read together with the key.
    public struct KeyPassword: Hashable, Sendable, CustomStringConvertible {
        package enum Place: Hashable, Sendable {
            case file(String)
            case environment(String)
        }

        package let place: Place

        /// Returns the content of a file as the source, without trailing line ends, at most 4096 bytes.
        public static func file(_ path: String) -> HTTPDNSTrust.KeyPassword {
            HTTPDNSTrust.KeyPassword(place: .file(path))
        }

        /// Returns the value of an environment variable as the source.
        public static func environment(_ name: String) -> HTTPDNSTrust.KeyPassword {
            HTTPDNSTrust.KeyPassword(place: .environment(name))
        }

        /// The source of the password, never its value.
        public var description: String {
            switch place {
            case .file(let path): "password in the file \(path)"
            case .environment(let name): "password in the environment variable \(name)"
            }
        }
    }
}
