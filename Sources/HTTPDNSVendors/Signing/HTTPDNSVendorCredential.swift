// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

public import HTTPDNSCore
internal import HTTPDNSPrimitives

/// An account at a vendor: its identifier, which is not secret, and the sources of its secrets.
///
/// The secrets are read again for each request, so that the next request uses a changed one. They appear in no description,
/// dump, error or log of this package.
public struct HTTPDNSVendorCredential: Sendable, CustomStringConvertible {
    /// The vendor's identifier of the account: 1 to 128 of a-z, A-Z, 0-9, `-`, `_` and `.`.
    public var account: String
    /// The secret that signs requests, or the token that is sent with them; `nil` for an account that accepts unsigned
    /// requests.
    public var secret: HTTPDNSSecret?
    /// The key that encrypts names and answers; `nil` leaves them to TLS alone.
    public var encryptionKey: HTTPDNSSecret?

    /// Creates a credential. Nothing is read yet.
    public init(account: String, secret: HTTPDNSSecret? = nil, encryptionKey: HTTPDNSSecret? = nil) {
        self.account = account
        self.secret = secret
        self.encryptionKey = encryptionKey
    }

    /// The account, and the sources of its secrets.
    public var description: String {
        ["account \(account)", secret.map { "\($0)" }, encryptionKey.map { "key: \($0)" }]
            .compactMap { $0 }
            .joined(separator: ", ")
    }

    /// Returns whether both are the same account with the same sources of secrets.
    func isSame(as other: HTTPDNSVendorCredential) -> Bool {
        account == other.account && secret == other.secret && encryptionKey == other.encryptionKey
    }

    /// Whether the account can be in a URL without escaping.
    var hasPlainAccount: Bool { Self.isPlain(account) }

    /// Whether a text is 1 to 128 of a-z, A-Z, 0-9, `-`, `_` and `.`, which need no escaping in a URL.
    static func isPlain(_ text: String) -> Bool {
        (1...128).contains(text.utf8.count) && text.utf8.allSatisfy { $0.isLetterOrDigit(or: "-_.") }
    }

    /// Reads the secrets.
    /// - Throws: `HTTPDNSProviderError` with code `notConfigured` when one cannot be read, and `timedOut` when its file was not
    ///   read in time; `CancellationError`.
    func current(until deadline: MonotonicTime, on clock: any TimeSource) async throws -> VendorSecrets {
        do {
            return VendorSecrets(
                secret: try await secret?.current(until: deadline, on: clock),
                encryptionKey: try await encryptionKey?.current(until: deadline, on: clock)
            )
        } catch let error as SecretError {
            throw HTTPDNSProviderError(unreadable: error)
        }
    }

    /// Reads the secrets as ``current()`` does, on the calling thread.
    func read() throws(HTTPDNSProviderError) -> VendorSecrets {
        VendorSecrets(secret: try Self.read(secret), encryptionKey: try Self.read(encryptionKey))
    }

    private static func read(_ secret: HTTPDNSSecret?) throws(HTTPDNSProviderError) -> String? {
        guard let secret else { return nil }
        do throws(SecretError) {
            return try secret.read()
        } catch {
            throw HTTPDNSProviderError(unreadable: error)
        }
    }
}

extension HTTPDNSProviderError {
    /// Creates the error of a query without its secret.
    init(unreadable error: SecretError) {
        self.init(code: error.isOverdue ? .timedOut : .notConfigured, message: error.description)
    }
}

/// The secrets of an account, read for one request.
struct VendorSecrets: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
    var secret: String?
    var encryptionKey: String?

    var description: String { "(secrets)" }
    var customMirror: Mirror { Mirror(self, children: []) }
}
