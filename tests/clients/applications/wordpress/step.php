<?php
// One request to WordPress: `step.php install`, `step.php content`, `step.php queries`, or `step.php PATH` for a page.
[ , $step ] = $argv;
$url = parse_url( in_array( $step, array( 'install', 'content', 'queries' ), true ) ? '/' : $step );
$_SERVER = array(
    'HTTP_HOST' => 'blog.example', 'SERVER_NAME' => 'blog.example', 'REQUEST_METHOD' => 'GET', 'SERVER_PROTOCOL' => 'HTTP/1.1',
    'REMOTE_ADDR' => '127.0.0.1', 'REQUEST_URI' => strpos( $step, '/' ) === 0 ? $step : '/', 'QUERY_STRING' => $url['query'] ?? '', 'PHP_SELF' => $url['path'],
    'SCRIPT_NAME' => $url['path'], 'HTTP_USER_AGENT' => 'test',
) + $_SERVER;
parse_str( $url['query'] ?? '', $_GET );
$_REQUEST = $_GET;
define( 'WP_ADMIN', strpos( $url['path'], '/wp-admin/' ) === 0 );
// A request to the administration runs as the administrator.
function auth_redirect() {}
function wp_validate_auth_cookie() { return WP_ADMIN ? 1 : false; }
function wp_mail() { return true; }
if ( $step === 'install' ) {
    define( 'WP_INSTALLING', true );
}
if ( in_array( $step, array( 'install', 'content', 'queries' ), true ) ) {
    require getenv( 'WP' ) . '/wp-load.php';
    require ABSPATH . 'wp-admin/includes/admin.php';
    require __DIR__ . "/$step.php";
} elseif ( WP_ADMIN ) {
    chdir( getenv( 'WP' ) . '/wp-admin' );
    $pagenow = basename( $url['path'] );
    require getenv( 'WP' ) . $url['path'];
} else {
    define( 'WP_USE_THEMES', true );
    require getenv( 'WP' ) . '/wp-blog-header.php';
}
