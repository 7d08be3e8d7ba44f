<?php
require ABSPATH . 'wp-admin/includes/upgrade.php';
wp_install( 'A blog', 'admin', 'admin@blog.example', true, '', 'secret' );
$wpdb->query( "UPDATE $wpdb->posts SET post_date = '2017-05-05 05:05:05' - INTERVAL ID DAY, post_date_gmt = post_date, post_modified = post_date, post_modified_gmt = post_date" );
$wpdb->query( "UPDATE $wpdb->comments SET comment_date = '2017-05-05 05:05:05', comment_date_gmt = comment_date" );
switch_theme( 'walk' );
update_option( 'posts_per_page', 5 );
update_option( 'page_comments', 1 );
// The tables are complete: a second dbDelta changes nothing.
echo count( dbDelta( wp_get_db_schema(), false ) ), "\n";
