/// The login of the client at a proxy. Its texts appear in no description, dump or error.
package struct ProxyLogin: Hashable, Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable
{
    let user: String
    let password: String

    package init(user: String, password: String) {
        self.user = user
        self.password = password
    }

    package var description: String { "a login" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
