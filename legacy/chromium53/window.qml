// A window with one tab. Its profile keeps nothing; an address that fails shows nothing.
import QtQuick 2.7
import QtQuick.Window 2.2
import QtWebEngine 1.4

Window {
    visible: true
    flags: Qt.FramelessWindowHint
    width: parseInt(Qt.application.arguments[2])
    height: parseInt(Qt.application.arguments[3])

    WebEngineView {
        anchors.fill: parent
        url: "about:blank"
        settings.errorPageEnabled: false
        profile: WebEngineProfile { offTheRecord: true }
    }
}
